// SPDX-License-Identifier: Apache-2.0

package main

import "math"

// stage is one pass over the array.
type stage struct {
	tasks int64
	each  load
}

// workload is what is simulated: a rechunk with its stages and what a process that
// joins has to find out.
type workload struct {
	name             string
	bytes            float64 // decoded
	sources, targets int64   // stored objects before and after
	pairs            float64 // of a source and a target that have elements in common
	stages           []stage
}

// objects are the sizes of the chunks or shards of a rechunking, and the plan for them.
type objects struct {
	name           string
	source, target []int64  // the shape of an object
	tasks          [2]int64 // of both stages
	// pieces are the ranges of scratch objects that the tasks of the second stage read.
	// Unlike tasks, no plan shows them: package blocks has counted them.
	pieces int64
}

// The rechunking: five variables of a reanalysis, hourly for 40 years, on 137 levels and
// a grid of 721 by 1440, from maps to series of a year. They are float32 and are stored
// in half of their bytes.
var (
	shape  = []int64{5, 350640, 137, 721, 1440}
	unit   = []int64{1, 16, 1, 721, 1440} // a source chunk of 63 MiB, read as a whole
	chunks = objects{"chunks of 63 MiB", unit, []int64{1, 8766, 1, 43, 44}, [2]int64{156865, 191800}, 1285060}
	shards = objects{
		"shards of about 0.5 GiB", []int64{1, 128, 1, 721, 1440}, []int64{1, 8766, 1, 129, 132}, [2]int64{156865, 219200}, 1468640,
	}
	large = objects{
		"shards of about 4 GiB", []int64{1, 1024, 1, 721, 1440}, []int64{1, 8766, 1, 361, 352}, [2]int64{156865, 219200}, 1468640,
	}
)

const (
	size     = 4 // bytes of an element
	encoded  = 0.5
	inParts  = 4     // parts from which on an object is uploaded in parts
	upload   = 2     // requests that begin and end an upload in parts
	copyEach = 5.0e7 // bytes of a daily shard
)

// rechunking returns the workload for objects of some size.
func rechunking(c *costs, o objects) *workload {
	w := &workload{name: o.name, bytes: size, pairs: 1, sources: 1, targets: 1}
	units := int64(1)
	for i, n := range shape {
		w.bytes *= float64(n)
		w.pairs *= float64(pairs(n, o.source[i], o.target[i]))
		w.sources *= cells(n, o.source[i])
		w.targets *= cells(n, o.target[i])
		units *= cells(n, unit[i])
	}
	w.stages = []stage{readStage(c, w, o.tasks[0], units), writeStage(c, w, o.tasks[1], o.pieces)}
	return w
}

// cells returns the number of chunks of a length along an axis.
func cells(extent, length int64) int64 { return (extent + length - 1) / length }

// pairs returns how many pairs of chunks of two lengths along an axis have elements in
// common.
func pairs(extent, a, b int64) int64 {
	n := int64(0)
	for at := int64(0); at < extent; n++ {
		at = min(extent, (at/a+1)*a, (at/b+1)*b)
	}
	return n
}

// readStage returns the first stage: tasks decode chunks, each of them once, and write a
// scratch object.
func readStage(c *costs, w *workload, tasks, chunks int64) stage {
	n := float64(tasks)
	raw := w.bytes / n
	l := load{in: raw * encoded, out: raw, compute: raw/c.decode + c.task, getsAtOnce: c.reads, putsAtOnce: c.uploads}
	l.gets = requests(float64(chunks)/n, l.in, c.part)
	l.puts = requests(1, raw, c.part) + upload
	l.finish(c)
	return stage{tasks, l}
}

// writeStage returns the last stage: tasks read pieces of scratch objects and encode
// chunks.
func writeStage(c *costs, w *workload, tasks, pieces int64) stage {
	n := float64(tasks)
	raw, objects := w.bytes/n, float64(w.targets)/n
	l := load{in: raw, out: raw * encoded, compute: raw/c.encode + c.task, getsAtOnce: c.reads, putsAtOnce: c.writes}
	l.gets = requests(float64(pieces)/n, raw, c.part)
	l.puts = int64(math.Ceil(objects))
	if l.out/objects > inParts*c.part {
		l.puts = requests(objects, l.out, c.part) + int64(upload*objects)
	}
	l.finish(c)
	return stage{tasks, l}
}

// requests returns how many requests of at most part bytes move so many values.
func requests(values, bytes, part float64) int64 {
	return int64(math.Ceil(values * math.Ceil(bytes/values/part)))
}

// finish adds what follows from the bytes of a load.
func (l *load) finish(c *costs) {
	l.reading, l.writing = l.in/c.connection, l.out/c.connection
	l.compute += (l.in + l.out) / c.tls
}

// The compaction: a shard for each day becomes one for each month. The service copies
// the bytes. Only the indexes of shards pass through the workers.
const (
	days   = 14610
	months = 480
	fields = 5 * 137 // variables and levels
)

// compaction returns the workload of the compaction.
func compaction(c *costs) *workload {
	each := float64(days) / months
	l := load{gets: int64(math.Ceil(each)), puts: int64(math.Ceil(each)) + upload + 1, compute: c.task, getsAtOnce: c.reads, putsAtOnce: c.uploads}
	l.writing = c.copy * each
	return &workload{
		name: "compaction", bytes: copyEach * days * fields / encoded, sources: days * fields, targets: months * fields,
		pairs: days * fields, stages: []stage{{months * fields, l}},
	}
}

// ideal returns the seconds of all stages on undisturbed workers that have nothing to do
// but their tasks.
func (w *workload) ideal(c *costs, workers int) float64 {
	sum := 0.0
	for _, s := range w.stages {
		sum += float64(s.tasks) * s.each.seconds(c, c.latency) / float64(workers)
	}
	return sum
}
