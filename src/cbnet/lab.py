"""The place of the laboratory before version 0.3; it is the package `cbnet_lab` of the distribution cbnet-lab."""

message = "cbnet.lab is now cbnet_lab: install cbnet-lab, from a checkout by `pip install ./lab`"
raise ModuleNotFoundError(message, name="cbnet.lab")
