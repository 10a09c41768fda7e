"""The commented configuration that `cbnet pipeline init` writes; it runs unchanged."""

TEMPLATE = """\
# The configuration of `cbnet pipeline run`; docs/how-to/run-the-pipeline.md explains every key.
# Commented keys show their default values.
# Paths are relative to the folder of this file.

out = "run"                     # folder of the results: local, or hdfs://…, s3a://…
seed = 0                        # of everything random

# --- The network, and the routers whose tables are built -------------------------------------------------------
[network]
graph = "aslike:300"            # a generator, or a file such as "20120601.as-rel.txt.gz"
# users = "users-per-as.csv"    # columns asn and users; default: by AS class and degree
# root = 7018                   # root of the first tree; default: drawn by AS class
# trees = 1                     # trees of the live network and its tables
routers = 1                     # the number of most central routers, or a list of names: [7018, 3356]

# --- The users: clusters of 1000. The Internet of [2014] has 2,500,000 ------------------------------------------
[population]
clusters = 2_500

# --- Applications. Without `read`, the trace is synthetic -----------------------------------------------------------
[applications.web]              # the active Web: each bookmark is a subscription
share = 0.5                     # of all clusters
descriptors = 66.5              # per cluster that uses it; 133.6 in the paper's trace, 66.5 in its Table 1
sets = 123_248_896              # generated from a model of the trace, to draw from; "trace": the sets of the trace
# read = ["bookmarks"]          # names of sources (below)

[applications.blog]             # authors subscribe to their topics
# share = 0.0724
# read = ["posts"]              # posts, or word counts with `authors`
# authors = "article-users"     # a source of users and articles

[applications.video]            # keywords of videos: offers
# share = 0.0349
# read = ["videos"]

[applications.social]           # hashtags of links
# share = 0.2
# read = ["tweets"]
# followers = "followers"       # a source of followers and authors; default: authors subscribe

# --- Traces: docs/reference/traces.md lists formats and presets -------------------------------------------------
# [sources.bookmarks]
# preset = "delicious"
# path = "traces/delicious/*.tsv.gz"
# max_rejected = 0.01          # largest share of malformed rows

# [cleaning]
# stem = true
# stop = []

# [topics]                      # of the blogs
# topics = 400

# --- More results: uncomment a section to compute it -------------------------------------------------------
# [all_routers]                 # Table 1 of every router, as counts
# distinct = false              # also count the distinct descriptors before reduction

# [folded]                      # tables folded over k trees
# k = [1, 8, 16]

# [router_tables]               # the tables of every router on every tree; see `cbnet pipeline table`
# ranges = 16                   # of routers, in files of their own

# [curves]                      # extra path lengths and trees per interface: Figures 4 and 5
# k = [8, 16, 32, 64, 128]
# selections = 20
# sources = 200

# [tables]                      # compiled tables of the routers
# [live]                        # the folder of a live network with these tables
"""
