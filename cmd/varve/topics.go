// SPDX-License-Identifier: Apache-2.0

package main

import (
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/growth"
)

// topic is a subject that varve help explains besides commands.
type topic struct{ name, short, title, text, examples string }

// topics are all topics, in the order in which help lists them.
var topics = []topic{
	{"terms", "what NODE, chunk, shard and other terms mean", "Terms: what the words of the help mean", termsTopic, ""},
	{"select", "how --select chooses elements", "Selections: how to choose elements of an array", selectTopic, selectExamples},
	{"chunks", "how --chunks and --shards cut an array", "Chunks and shards: how an array is cut", chunking.Help + "\n\n" + chunking.ShardsHelp, chunksExamples},
	{"growth", "how --grow cuts appended elements", "Growth: which chunks an axis gets when it grows", growth.PoliciesText + "\n\n" + growth.StoredText, growthExamples},
}

// topicNames returns the names of the topics.
func topicNames() []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.name
	}
	return names
}

// topicOf returns the topic with a name.
func topicOf(name string) (topic, bool) {
	for _, t := range topics {
		if t.name == name {
			return t, true
		}
	}
	return topic{}, false
}

// termsTopic explains the words that the help uses.
const termsTopic = `  NODE          an array or a group, given by its path or URL: era5.zarr, era5.zarr/t2m, /data/era5.zarr, data.zip/t2m for a
                node in a zip archive, https://example.org/era5.zarr/t2m, and to read only, archive.vz/t2m, month.nc/t2m
  group         a node that holds arrays and other groups, like a folder; xarray opens a group as a dataset
  array         elements of one data type, along any number of axes
  axis          one direction of an array. Its length is the extent; the lengths of all axes are the shape
  dimension     an axis with a name, such as time; arrays of a group that share a dimension have equal lengths along it
  coordinate    an array with one axis, named like its dimension, that holds the time or place of each element along it
  chunk         a block of elements that are encoded together and stored as one object: a file, or an entry of an archive
  chunk grid    how the axes are cut into chunks. Regular: all chunks of an axis have one length, and the last one may reach
                beyond the extent. Rectilinear: the lengths are listed, and may differ
  shard         a chunk that holds many inner chunks, each of which can be read separately: few objects, but small reads
  codec         a step between elements and stored bytes: bytes (their order), zstd or gzip (compression), crc32c (a checksum)
  fill value    the value of elements that were never written; chunks that hold nothing else are not stored
  missing       an element without a value: it equals the attribute _FillValue or missing_value
  consolidated  a group is consolidated if its document has copies of the documents of all nodes below it, so that readers
                need fewer requests
  document      the metadata of a node: zarr.json in format 3; .zarray or .zgroup, and .zattrs, in format 2
  format        the version of Zarr that a node is stored in: 3, or the older 2

` + missingHelp

// missingHelp explains the attributes that mark missing values.
const missingHelp = `Missing values: an element that equals the attribute _FillValue or missing_value has no value (CF conventions). In format
2, xarray also takes the fill value for missing, unless it is null or the dimensions have no names; in images of OME-Zarr
Varve does not. In format 3 xarray uses only the attributes. missing_value is a number or a list. In format 3, _FillValue
is a number for integers, but text for floats: the base64 of a float64. If an array of floats has a number instead,
xarray cannot open the group. After create and attrs set, a note prints the text for a given number.`

// selectExamples are commands with selections.
const selectExamples = `  varve cat era5.zarr/t2m --select 0,::6,-1
  varve cat era5.zarr/t2m --select time=2020-02,lat=0
  varve export era5.zarr/t2m --select time=2020-01-01..2020-03-31,lat=-10..10 -o tropics.npy
  varve cat era5.zarr/t2m --select '{"points": [[0, 5], [3, 4], [2, 1]]}'`

// chunksExamples are commands that cut arrays.
const chunksExamples = `  varve create era5.zarr/wind --shape 1826,36,72 --dtype float32 --chunks 365,36,72
  varve create era5.zarr/rain --shape 1826,36,72 --dtype float32 --chunks calendar:month --time time
  varve create era5.zarr/snow --shape 1826,36,72 --dtype float32 --shards 365,36,72 --chunks 5,36,72
  varve grid era5.zarr/t2m`

// growthExamples are commands that grow arrays.
const growthExamples = `  varve unlock station.zarr --axis time
  varve append era5.zarr t2m=t2m.npy time=time.npy --grow calendar:month --time time
  varve create era5.zarr/daily --shape 0,36,72 --dtype float32 --chunks calendar:month --time time --grow calendar:month`

// selectTopic explains --select.
const selectTopic = `A selection has one item for each axis, separated by commas. Axes without an item are selected as a whole, and so is the
array without --select. Use single quotes in a shell if a selection contains spaces, quotes, braces or brackets.
  3              one element; the result does not have this axis. -1 is the last element
  0:10           elements 0 to 9, as in NumPy; ::2 is every second element, ::-1 is all of them backwards
  ...            all axes in between, as in 0:10,...,3
  time=0:10      an item for the dimension with this name; such items come last

Coordinate values can be used if the dimension has a coordinate: an array with one axis, named like the dimension, in
the same group or a group above.
  time=2024-12-25..2025-01-01    all elements between two values, both included
  lat=-10..10                    the same for numbers; the coordinate may also decrease
  time=2024-12-25..              all elements from a value on; ..10 is all up to 10
  time=2024-12                   all elements of a month; for a year write time=2024..2024, because time=2024 is an index
  time=2024-12-25                the nearest element; the result does not have this axis
  lat=10.0                       the nearest element; lat=10 is an index, lat=10..10 is all elements with that value
  lead=6h..1d12h                 durations (30s, 15m, 6h, 1d, 2w) if the coordinate is timedelta64 or its units are hours, days
                                 and so on; lead=6.0 and lead=0..36 are numbers in the units of the coordinate
  station=Oslo                   the element with this label. Put labels that are empty, look like a number, or contain
                                 commas in quotes, as in station="7"; double a quote inside

A date stands for a period: 2024-12 for a month, 2024-12-25 for a day, 2024-12-25T06 for an hour. A range goes from the
beginning of its first date to the end of its last one. A single month selects all its elements; so does a year in
quotes, time="2024". A single day or time of day selects one element: the first one within it, otherwise the nearest.
Dates are in the calendar of the coordinate, given by its attributes units ("days since 2000-01-01") and calendar
("noleap"). It is an error if a range has no elements, or if a value is far beyond the ends of the coordinate.

JSON:
  {"orthogonal": [[0,2,5], "1:5", 7]}               one entry for each axis: a list of indices, a slice or an index
  {"orthogonal": {"time": "2024-12..", "lat": [45.0, 30.0]}}   axes by name, also by coordinate values
  {"points": [[0,5,7], [10,20,30]]}                 three elements, (0,10), (5,20) and (7,30): one list for each axis, not for
                                                    each point
  {"blocks": ["0", "1:3"]}                          chunks by their index; with "inner": true the inner chunks of shards
  {"mask": "mask.npy"}                              elements for which an array of booleans of the same shape is true
  {"fields": ["a"], "basic": "0:5"}                 fields of a struct, for the elements that "basic" selects`
