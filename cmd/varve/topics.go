// SPDX-License-Identifier: Apache-2.0

package main

import (
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/growth"
)

// topic is what varve help explains besides commands.
type topic struct{ name, short, title, text, examples string }

// topics are all of them.
var topics = []topic{
	{"terms", "what NODE, chunk, shard and the like mean", "Terms: what the words of the other texts mean", termsTopic, ""},
	{"select", "how --select names elements", "Selections: which elements of an array are meant", selectTopic, selectExamples},
	{"chunks", "how --chunks and --shards cut an array", "Chunks and shards: how an array is cut", chunking.Help + "\n\n" + chunking.ShardsHelp, chunksExamples},
	{"growth", "how --grow cuts what is appended", "Growth: how the chunks of an axis go on", growth.PoliciesText + "\n\n" + growth.StoredText, growthExamples},
}

// topicNames returns the names of the topics.
func topicNames() []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.name
	}
	return names
}

// topicOf returns the topic of a name.
func topicOf(name string) (topic, bool) {
	for _, t := range topics {
		if t.name == name {
			return t, true
		}
	}
	return topic{}, false
}

// termsTopic explains the words that the help uses.
const termsTopic = `  NODE          an array or a group, by its path or URL: era5.zarr, era5.zarr/t2m, /data/era5.zarr, data.zip/t2m for a node in a zip
                archive, https://example.org/era5.zarr/t2m
  group         holds arrays and other groups, as a folder does; what xarray opens as one dataset is a group
  array         elements of one data type, along any number of axes
  axis          one direction of an array. Its length is the extent; the lengths of all axes are the shape
  dimension     an axis that has a name, as time; arrays of a group that name one alike have one length along it
  coordinate    an array with one axis, named as a dimension, that holds the time or place of each element along it
  chunk         a block of elements that are encoded together and stored as one object: a file, or an entry of an archive
  chunk grid    how the axes are cut into chunks. Regular: all chunks of an axis have one length, and the last one may reach
                beyond the extent. Rectilinear: the lengths are listed, and may differ
  shard         a chunk that holds many inner chunks, each of which can be read alone: few objects, yet small reads
  codec         a step between elements and stored bytes: bytes (their order), zstd or gzip (compression), crc32c (a checksum)
  fill value    the value of elements that were never written; chunks that hold nothing else are not stored
  missing       an element that stands for no value, because it equals the attribute _FillValue or missing_value
  consolidated  of a group: its document has a copy of the documents of all nodes below it, which saves readers requests
  format        the version of Zarr that a node is stored in: 3, or the older 2

` + missingHelp

// missingHelp explains the attributes that mark missing values.
const missingHelp = `Missing values: the attributes _FillValue and missing_value name elements that stand for no value (CF conventions). In
format 2, xarray takes the fill value for one too; in format 3 the attributes only. missing_value is a number or a list. In
format 3, _FillValue of integers is a number too, but that of floats is text: the base64 of a float64. xarray refuses a whole
group in which it is a number. After create and attrs set, a note tells the text for the number given.`

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
const selectTopic = `An item for each axis, with commas between them. Axes without an item are whole, and so is the array
without --select. In a shell, a selection with spaces, quotes, braces or brackets in it stands in single quotes.
  3              one element; its axis is not in the result. -1 is the last element
  0:10           elements 0 to 9, as in NumPy; ::2 is every other one, ::-1 all of them backwards
  ...            all axes that are not named, as in 0:10,...,3
  time=0:10      an item for the dimension of that name; such items come last

By coordinate values, where the dimension has a coordinate, which is an array with one axis that is named as the dimension,
in the same group or one above:
  time=2024-12-25..2025-01-01    all elements between two values, with both ends
  lat=-10..10                    the same for numbers, also where the coordinate decreases
  time=2024-12-25..              all from a value on; ..10 is all up to 10
  time=2024-12                   all elements of a month; for a year write time=2024..2024, since time=2024 is an index
  time=2024-12-25                the nearest element; its axis is not in the result
  lat=10.0                       the nearest element; lat=10 is an index, lat=10..10 are all with that value
  lead=6h..1d12h                 lengths of time, where the coordinate is timedelta64 or its units are hours, days or the like:
                                 30s, 15m, 6h, 1d, 2w; numbers are in the units of the coordinate, as lead=6.0 and lead=0..36
  station=Oslo                   the element with that label; quotes, as in station="7", make a label of a number,
                                 of no characters, or of commas; a quote within is doubled

A date covers what it names: 2024-12 is a month, 2024-12-25 a day, 2024-12-25T06 an hour. A range goes from the
beginning of its first date to the end of its last one. By itself a month means all its elements, and so does a year in
quotes, time="2024"; a day or a time of day means one element: the first within it, or else the nearest one. Dates are in the coordinate's own calendar, which its attributes units ("days since 2000-01-01")
and calendar ("noleap") name. A range without an element is refused, and so is a value far beyond the ends of a coordinate.

In JSON:
  {"orthogonal": [[0,2,5], "1:5", 7]}               an entry an axis: a list of indices, a slice or an index
  {"orthogonal": {"time": "2024-12..", "lat": [45.0, 30.0]}}   axes by name, also by coordinate values
  {"points": [[0,5,7], [10,20,30]]}                 three elements, (0,10), (5,20) and (7,30): a list for each axis, not for each point
  {"blocks": ["0", "1:3"]}                          chunks by their index; with "inner": true the inner chunks of shards
  {"mask": "mask.npy"}                              elements where an array of booleans in a file, of the same shape, is true
  {"fields": ["a"], "basic": "0:5"}                 fields of a struct, of the elements that a text selects`
