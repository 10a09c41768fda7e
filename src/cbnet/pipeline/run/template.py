"""The first configuration: what does `cbnet pipeline init` write? A file that runs as it is, with comments."""

FIRST = """\
# What `cbnet pipeline run` reads: docs/how-to/run-the-pipeline.md explains every key.
# Lines that begin with # are not in force; those with a value show the usual one.
# Paths begin at the folder of this file.

out = "run"                     # the folder of the results: here, or hdfs://…, s3a://…
seed = 0                        # another seed makes another population

# --- The network, and the routers whose tables are built -------------------------------------------------------
[network]
graph = "aslike:300"            # a generator, or a file such as "20120601.as-rel.txt.gz"
# users = "users-per-as.csv"    # columns asn and users; without it users are spread by AS class and degree
# root = 7018                   # the node in which the tree is rooted; without it one is drawn by AS class
routers = 1                     # so many of the most central ones, or a list of names: [7018, 3356]

# --- The users: clusters of 1000. The Internet of [2014] has 2,500,000 ------------------------------------------
[population]
clusters = 2_500

# --- Who uses what. Without `read` a trace is made up -----------------------------------------------------------
[applications.web]              # the active Web: each bookmark is a subscription
share = 0.5                     # of all clusters
descriptors = 66.5              # of a cluster that uses it; 133.6 in the paper's trace, 66.5 in its Table 1
sets = 123_248_896              # to draw from, made by a model of the trace; "trace": those of the trace as they are
# read = ["bookmarks"]          # names of sources, below

[applications.blog]             # what authors write about, by topics
# share = 0.0724
# read = ["posts"]              # posts; or word counts, with `authors`
# authors = "article-users"     # a source of user and article

[applications.video]            # keywords of videos: offers
# share = 0.0349
# read = ["videos"]

[applications.social]           # hashtags of links
# share = 0.2
# read = ["tweets"]
# followers = "followers"       # a source of follower and author; without it the authors subscribe themselves

# --- Traces: docs/reference/traces.md lists formats and presets -------------------------------------------------
# [sources.bookmarks]
# preset = "delicious"
# path = "traces/delicious/*.tsv.gz"
# most_rejected = 0.01          # of all rows, that may be malformed

# [cleaning]
# stem = true
# stop = []

# [topics]                      # of the blogs
# topics = 400

# --- More results: remove the # in front of a section to have it -----------------------------------------------
# [all_routers]                 # Table 1 of every router, as counts
# distinct = false              # also the different descriptors, before any is dropped

# [folded]                      # tables folded over k trees
# k = [1, 8, 16]

# [curves]                      # extra path lengths and trees per interface: Figures 4 and 5
# k = [8, 16, 32, 64, 128]
# selections = 20
# sources = 200

# [tables]                      # compiled tables of the routers
# [live]                        # a folder that a live network can start from
# trees = 1
"""
