// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// lookups opens an array whose chunks are the months of eighty years, and looks up the
// chunks of indices.
func (b *timeTable) lookups() {
	lengths, extent := eightyYears()
	path := b.array([]int64{extent}, grid.Edges(lengths...))
	b.openings("80 years of months", path, 20, 200, 100)
	indices, sum := make([]int64, 100_000), int64(0)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range indices {
		indices[i] = r.Int64N(extent)
	}
	a, err := b.loaded(path).At("").OpenArray(b.Context(), nil)
	check(b.T, err)
	axis := a.Grid().Axis(0)
	varve := best(20, 10, func() {
		sum = 0
		for _, i := range indices {
			chunk, _, _ := axis.Locate(i)
			sum += chunk
		}
	})
	for _, way := range []struct{ what, op string }{{"one by one", "find"}, {"zarr-python in one call", "find_all"}} {
		python := b.zarr(timeRequest{Op: way.op, Path: path, Memory: true, Rounds: 5, Times: 1, Indices: b.file(indices)})
		if python.Sum != sum {
			b.Errorf("the chunks that zarr-python finds have the sum %d, want %d", python.Sum, sum)
		}
		b.seconds("80 years of months: 10^5 look-ups, "+way.what, varve, python)
	}
}

// file returns a file of numbers.
func (b *timeTable) file(numbers []int64) string {
	path := filepath.Join(b.TempDir(), "numbers")
	var data bytes.Buffer
	check(b.T, binary.Write(&data, binary.LittleEndian, numbers))
	check(b.T, os.WriteFile(path, data.Bytes(), 0o600))
	return path
}

// openings opens an array in memory, and measures the memory of the open array.
func (b *timeTable) openings(what, path string, rounds, times, pythonTimes int) {
	h := b.loaded(path)
	varve := best(rounds, times, func() { b.opened(h) })
	b.seconds(what+": open, memory", varve, b.zarr(timeRequest{Op: "open_array", Path: path, Memory: true, Rounds: 8, Times: max(1, pythonTimes/10)}))
	weighed := b.zarr(timeRequest{Op: "held", Path: path, Memory: true, Times: max(2, pythonTimes)})
	b.sizes(what+": held by an open array", b.held(h, max(2, times)), weighed.Bytes)
}

func (b *timeTable) opened(h *zarr.Location) *zarr.Array {
	a, err := h.At("").OpenArray(b.Context(), nil)
	check(b.T, err)
	return a
}

// held returns the bytes of memory of an open array.
func (b *timeTable) held(h *zarr.Location, times int) float64 {
	arrays := make([]*zarr.Array, times)
	b.opened(h)
	before := heap()
	for i := range arrays {
		arrays[i] = b.opened(h)
	}
	after := heap()
	runtime.KeepAlive(arrays)
	return float64(after-before) / float64(times)
}

// heap returns the bytes in use.
func heap() int64 {
	var m runtime.MemStats
	for range 3 { // the second collection empties pools
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// opens opens an array of a million edges and reads an element.
func (b *timeTable) opens() {
	lengths, extent := randomEdges()
	path := b.array([]int64{extent}, grid.Edges(lengths...))
	i := extent / 2
	b.put(path, selection.Box{{i, i + 1}})
	b.openings("10^6 random edges", path, 20, 1, 1)
	a := b.opened(b.loaded(path))
	one := make([]float32, 1)
	varve := best(10, 1000, func() { check(b.T, zarr.ReadInto(b.Context(), a, selection.Box{{i, i + 1}}, one)) })
	if one[0] != 1 {
		b.Errorf("read %v", one)
	}
	r := timeRequest{Op: "point", Path: path, Memory: true, Rounds: 5, Times: 100, Length: i}
	b.seconds("10^6 random edges: read one element, memory", varve, b.zarr(r))
	r.Op, r.Times = "points", 3
	b.seconds("the same, zarr-python by `oindex`", varve, b.zarr(r))
}

// processes measures whole programs on arrays of many chunks.
func (b *timeTable) processes() {
	varve := filepath.Join(b.TempDir(), "varve")
	build := exec.Command("go", "build", "-trimpath", "-o", varve, ".")
	build.Dir, build.Env = filepath.Join("..", "cmd", "varve"), append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	regular := b.array([]int64{1e9}, grid.Every(1))
	listed := b.array([]int64{1e9}, grid.Runs(grid.Run{Length: 1, Count: 1e9}))
	short := b.array([]int64{1e7}, grid.Runs(grid.Run{Length: 1, Count: 1e7}))
	info := "import sys, zarr; zarr.config.set({'array.rectilinear_chunks': True}); print(zarr.open_array(sys.argv[1], mode='r').info)"
	slow := func(rounds int, arguments ...string) timeAnswer {
		return timeAnswer{Seconds: b.process(rounds, b.python, append([]string{"-c"}, arguments...)...)}
	}
	python := slow(3, info, regular)
	none := timeAnswer{Seconds: math.NaN()}
	b.seconds("process: `varve version`; `import zarr`", b.process(10, varve, "version"), slow(3, "import zarr"))
	b.seconds("process: `varve info`, 10^9 regular chunks; `print(zarr.open_array(…).info)`", b.process(10, varve, "info", regular), python)
	b.seconds("process: `varve grid`, 10^9 regular chunks; the same", b.process(10, varve, "grid", regular), python)
	b.seconds("process: `varve info`, a run of 10^7 edges", b.process(10, varve, "info", short), slow(1, info, short))
	b.seconds("process: `varve info`, a run of 10^9 edges (zarr-python would list them)", b.process(10, varve, "info", listed), none)
	b.seconds("process: `varve grid`, a run of 10^9 edges", b.process(10, varve, "grid", listed), none)
}

// process runs a program several times, and returns the shortest time.
func (b *timeTable) process(rounds int, name string, arguments ...string) float64 {
	return best(rounds, 1, func() {
		if out, err := exec.CommandContext(b.Context(), name, arguments...).CombinedOutput(); err != nil {
			b.Fatalf("%s %v: %v: %s", name, arguments, err, out)
		}
	})
}
