// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// set is a store that programs work on.
type set struct {
	name   string
	spec   zarr.Spec
	values values // nil where no chunk is stored and all elements are 7
	empty  bool   // no chunk is stored whatever the values are
	group  func(ctx context.Context, dir string) error
}

var _ = codec.CRC32C // registers the codec of the indexes of shards

func raw() []metadata.Extension    { return []metadata.Extension{codec.Bytes("little")} }
func packed() []metadata.Extension { return append(raw(), codec.ZstdChecksum(0, false)) }

// every cuts axes into chunks of one length each.
func every(lengths ...int64) (cuts []grid.Cut) {
	for _, n := range lengths {
		cuts = append(cuts, grid.Every(n))
	}
	return cuts
}

// thrice cuts three axes at the same edges, rotated by one for each, so that chunks are
// not cubes.
func thrice(edges []int64) (cuts []grid.Cut) {
	for k := range 3 {
		k %= len(edges)
		cuts = append(cuts, grid.Edges(append(append([]int64(nil), edges[k:]...), edges[:k]...)...))
	}
	return cuts
}

// cubeOf is an array of uint16 like that of zarr_benchmarks.
func cubeOf(z size, name string, chunks, inner []grid.Cut, codecs []metadata.Extension) set {
	n := z.cube
	return set{name: name, values: uint16s, spec: zarr.Spec{
		Shape: []int64{n, n, n}, Type: dtype.Uint16, Chunks: chunks, InnerChunks: inner, Codecs: codecs,
	}}
}

// allSets returns the data sets by name.
func allSets(z size) map[string]set {
	c, in := z.chunk(), z.inside()
	regular, inner := every(c, c, c), every(in, in, in)
	all := []set{
		cubeOf(z, "raw", regular, nil, raw()),
		cubeOf(z, "zstd", regular, nil, packed()),
		cubeOf(z, "shard", regular, inner, packed()),
		cubeOf(z, "shard-small", regular, every(in/2, in/2, in/2), packed()),
		cubeOf(z, "raw-uneven", thrice(z.scaled(200, 312, 240, 272)), nil, raw()),
		cubeOf(z, "zstd-uneven", thrice(z.scaled(200, 312, 240, 272)), nil, packed()),
		cubeOf(z, "zstd-strong", thrice(z.scaled(640, 128, 128, 64, 32, 16, 8, 8)), nil, packed()),
		cubeOf(z, "raw-strong", thrice(z.scaled(640, 128, 128, 64, 32, 16, 8, 8)), nil, raw()),
		cubeOf(z, "shard-uneven", thrice(z.scaled(128, 384, 192, 320)), inner, packed()),
	}
	return byName(append(append(all, smallSets(z)...), otherSets(z)...))
}

// smallSets have many small chunks.
func smallSets(z size) []set {
	cells := []int64{64 * z.cells[0], 80 * z.cells[1]}
	tiny := 4 * z.tiny
	return []set{
		{name: "cells-raw", values: uint16s, spec: zarr.Spec{Shape: cells, Type: dtype.Uint16, Chunks: every(64, 80), Codecs: raw()}},
		{name: "cells-zstd", values: uint16s, spec: zarr.Spec{Shape: cells, Type: dtype.Uint16, Chunks: every(64, 80), Codecs: packed()}},
		{name: "tiny", values: uint8s, spec: zarr.Spec{
			Shape: []int64{tiny, tiny, tiny}, Type: dtype.Uint8, Chunks: every(tiny, tiny, tiny), InnerChunks: every(4, 4, 4),
			Codecs: []metadata.Extension{codec.Bytes("")},
		}},
	}
}

func otherSets(z size) []set {
	n, c := z.cube, z.chunk()
	lz4 := codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Shuffle: "shuffle", Element: 4})
	archive := zarr.Spec{Shape: []int64{3650, 90, 180}, Type: dtype.Float32, Codecs: raw()}
	regular, listed := archive, archive
	regular.Chunks = every(365, 90, 180)
	listed.Chunks = []grid.Cut{grid.Runs(grid.Run{Length: 365, Count: 10}), grid.Every(90), grid.Every(180)}
	runs := opened
	runs.Shape, runs.Chunks = []int64{10 * z.run, 10}, []grid.Cut{grid.Runs(grid.Run{Length: 10, Count: z.run}), grid.Every(10)}
	return []set{
		{name: "blosc", values: float32s, spec: zarr.Spec{
			Shape: []int64{n, n, n / 2}, Type: dtype.Float32, Chunks: every(c, c, c/2), Codecs: append(raw(), lz4),
		}},
		{name: "days-regular", values: days, spec: regular},
		{name: "days-listed", values: days, spec: listed},
		{name: "open-run", spec: runs},
		listedOf("open-edges", z.edges),
		{name: "group", group: func(ctx context.Context, dir string) error { return makeGroup(ctx, dir, z.arrays, false) }},
		{name: "group-consolidated", group: func(ctx context.Context, dir string) error { return makeGroup(ctx, dir, z.arrays, true) }},
	}
}

// opened is the common part of arrays that are only opened and store no chunks.
var opened = zarr.Spec{Type: dtype.Uint8, FillValue: zarr.FillJSON("7"), Codecs: packed()}

// listedOf has n edges of 1 to 9 along its first axis, in an order that neither runs nor
// periods shorten.
func listedOf(name string, n int64) set {
	edges, extent := make([]int64, n), int64(0)
	for i := range edges {
		edges[i] = 5 + int64(8*noise(uint64(i)))
		extent += edges[i]
	}
	spec := opened
	spec.Shape, spec.Chunks = []int64{extent, 10}, []grid.Cut{grid.Edges(edges...), grid.Every(10)}
	return set{name: name, spec: spec}
}

func byName(all []set) map[string]set {
	m := map[string]set{}
	for _, s := range all {
		m[s.name] = s
	}
	return m
}

// makeGroup creates a group of many arrays without chunks.
func makeGroup(ctx context.Context, dir string, n int, consolidated bool) error {
	opt := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	g, err := zarr.CreateGroup(ctx, dir, nil, opt)
	if err != nil {
		return err
	}
	nodes := map[string]zarr.NodeSpec{}
	for i := range n {
		nodes[fmt.Sprintf("a%05d", i)] = zarr.Spec{
			Shape: []int64{int64(i), 10}, Type: dtype.Float32, Chunks: every(100, 10), DimensionNames: []string{"time", "x"},
			Attributes: map[string]string{"units": "K", "long_name": fmt.Sprint("variable number ", i)}, Codecs: packed(),
		}
	}
	if _, err := g.At("").Create(ctx, nodes, opt); err != nil {
		return err
	}
	if consolidated {
		return g.Consolidate(ctx)
	}
	return nil
}

// make creates the store of a set unless it exists, and returns its folder.
func (s set) make(ctx context.Context, folder string) (string, error) {
	dir := filepath.Join(folder, s.name+".zarr")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintln(os.Stderr, "bench: making", dir)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	// The set gets its name when it is complete, so an interrupted run leaves no half
	// set.
	part := filepath.Join(folder, "unfinished.zarr")
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := s.write(ctx, part); err != nil {
		return "", fmt.Errorf("data set %s: %w", s.name, err)
	}
	return dir, os.Rename(part, dir)
}

func (s set) write(ctx context.Context, dir string) error {
	if s.group != nil {
		return s.group(ctx, dir)
	}
	a, err := zarr.CreateArray(ctx, dir, s.spec, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush, StoreFill: true}})
	if err != nil || s.values == nil || s.empty {
		return err
	}
	slabs, err := a.Slabs(nil, 512<<20)
	if err != nil {
		return err
	}
	for slab := range slabs {
		begin, end, err := corners(a, slab)
		if err != nil {
			return err
		}
		if err := a.WriteBytes(ctx, slab, s.elements(begin, end)); err != nil {
			return err
		}
	}
	return nil
}

// corners returns the first element of a box, and the end after its last.
func corners(a *zarr.Array, sel selection.Selection) (begin, end []int64, err error) {
	r, err := a.Select(sel)
	if err != nil {
		return nil, nil, err
	}
	for _, side := range r.Bounds() {
		begin, end = append(begin, side.Start), append(end, side.Stop)
	}
	return begin, end, nil
}

// elements returns the values of a box.
func (s set) elements(begin, end []int64) []byte {
	n := int64(s.spec.Type.Size())
	for k := range begin {
		n *= end[k] - begin[k]
	}
	f, data := s.values, make([]byte, n)
	if f == nil {
		f = sevens
	}
	f(begin, end, data)
	return data
}

// boxes returns the chunks of a set, or its inner chunks.
func (s set) boxes(inner bool) ([][]int64, error) {
	g, err := grid.New(s.spec.Shape, s.spec.Chunks...)
	if err != nil {
		return nil, err
	}
	if inner {
		if g, err = grid.New(s.spec.Shape, s.spec.InnerChunks...); err != nil {
			return nil, err
		}
	}
	var all [][]int64
	for c := range g.All() {
		box := append([]int64(nil), c.Start...)
		for k := range c.Start {
			box = append(box, c.Start[k]+c.Logical[k])
		}
		all = append(all, box)
	}
	return all, nil
}

// expected returns the checksum of the boxes, with limit bytes of each.
func (s set) expected(boxes [][]int64, limit int64) string {
	sum := protocol.Sum{Limit: limit}
	rank := len(s.spec.Shape)
	for i, box := range boxes {
		sum.Add(i, s.elements(box[:rank], box[rank:]))
	}
	return sum.String()
}

// whole is the box of all elements.
func (s set) whole() []int64 {
	return append(make([]int64, len(s.spec.Shape)), s.spec.Shape...)
}

func (s set) String() string { return strings.TrimSuffix(s.name, ".zarr") }

// The fields of this file change their character from part to part, which ordinary fields
// of a benchmark do not. Their generators depend on the index alone.

// noFill is the fill value of the ocean, as of netCDF floats.
const noFill = 9.969209968386869e36

// ocean is the temperature of the sea at [time, lat, lon], as a model computes it: it is
// smooth, with all bits of a float32 in use. Land has the fill value.
func ocean(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		t, y, x := float64(at[0]), float64(at[1]), at[2]
		for i := 0; i < len(row); i += 4 {
			v := float64(float32(noFill))
			if !land(at[1], x) {
				v = 14 + 12*math.Cos((y-256)/200) + 2*math.Sin(float64(x)/37+t/9)*math.Cos(y/29) +
					0.002*noise(uint64(at[0])<<40|uint64(at[1])<<20|uint64(x))
			}
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			x++
		}
	})
}

// continents are the centre, and half of the height and width, of ellipses of land.
var continents = [][4]float64{{150, 200, 130, 110}, {330, 320, 150, 90}, {160, 640, 140, 190}, {350, 880, 90, 80}}

// land reports whether a point of the ocean is land. Coasts are not smooth.
func land(y, x int64) bool {
	for _, c := range continents {
		dy, dx := (float64(y)-c[0])/c[2], (float64(x)-c[1])/c[3]
		coast := 1 + 0.15*math.Sin(float64(x)/11)*math.Cos(float64(y)/13)
		if dy*dy+dx*dx < coast {
			return true
		}
	}
	return false
}

// Bounds of what the microscope sees, along each axis.
var seenFrom, seenTo = []int64{37, 83, 71}, []int64{219, 331, 305}

// microscopy is an image of a microscope at [z, y, x]: zero around what it sees, and
// noise on a faint pattern within.
func microscopy(begin, end []int64, dst []byte) {
	rows(begin, end, 2, dst, func(at []int64, row []byte) {
		z, y, x := at[0], at[1], at[2]
		for i := 0; i < len(row); i += 2 {
			var v uint16
			if inside(0, z) && inside(1, y) && inside(2, x) {
				level := 400 + 120*math.Sin(float64(x)/23)*math.Sin(float64(y)/19)*math.Cos(float64(z)/17)
				n := noise(uint64(z)<<40 | uint64(y)<<20 | uint64(x))
				v = uint16(level + 90*n)
			}
			binary.LittleEndian.PutUint16(row[i:], v)
			x++
		}
	})
}

func inside(axis int, k int64) bool { return k >= seenFrom[axis] && k < seenTo[axis] }

// kindsFrom are the first stations of each kind, and the end of the last.
var kindsFrom = []int64{0, 611, 1814, 1901, 3401, 4096}

// stations are measurements at [station, time], sorted by the kind of station: the
// temperature in tenths, rain that rarely falls, a code that hardly changes, radiation
// that is zero at night, and turbulence.
func stations(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		s, t := at[0], at[1]
		kind := 0
		for s >= kindsFrom[kind+1] {
			kind++
		}
		for i := 0; i < len(row); i += 4 {
			v := measure[kind](s, t, noise(uint64(s)<<32|uint64(t)))
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			t++
		}
	})
}

// measure has the values of a station s at time t, in hours, by kind. n is noise.
var measure = [...]func(s, t int64, n float64) float64{
	func(s, t int64, n float64) float64 {
		v := 10 + 0.01*float64(s) + 6*math.Sin(float64(t)*math.Pi/12) + 8*math.Sin(float64(t)/1400) + n
		return math.Round(10*v) / 10
	},
	func(s, t int64, n float64) float64 {
		if noise(uint64(t/6)<<20|uint64(s/8)) < 0.44 {
			return 0
		}
		return math.Round(50*(n+0.5)) / 10
	},
	func(s, t int64, n float64) float64 { return float64(s%7) + float64(t/700) },
	func(s, t int64, n float64) float64 {
		return max(0, math.Sin(float64(t)*math.Pi/12)) * (800 + 0.1*float64(s) + 5*n)
	},
	func(_, _ int64, n float64) float64 { return n },
}

// floatBytes returns a float32, little endian.
func floatBytes(v float64) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
}

// candidate is a program to measure.
type candidate struct {
	name    string
	program []string // the request is appended
	adjust  func(*protocol.Request)
	// command returns the arguments of a program that does not implement the
	// protocol, or nil if it has no such operation. Its output is the elements, if
	// they are needed.
	command func(row, protocol.Request) []string
	// bound marks a program that does not read Zarr and shows the limit of the
	// machine.
	bound bool
	varve bool
	// inPlace marks a program that changes a copy of the store. Others get an empty
	// target.
	inPlace bool
}

// allCandidates returns the candidates as bench/setup installs them.
func allCandidates(cache string) []candidate {
	bin := func(name string) string { return filepath.Join(cache, "bin", name) }
	python, node := filepath.Join(cache, "venv", "bin", "python"), filepath.Join(cache, "zarrita")
	source := filepath.Join(cache, "python")
	return []candidate{
		{name: "varve", program: []string{bin("varve-peer")}, varve: true},
		{name: "varve-16MiB", program: []string{bin("varve-peer")}, varve: true, adjust: func(r *protocol.Request) { r.Budget = 16 << 20 }},
		{name: "varve-command", program: []string{bin("varve")}, varve: true, command: command},
		{name: "zarrs", program: []string{bin("zarrs-bench")}},
		{name: "tensorstore", program: []string{python, filepath.Join(source, "tensorstore_peer.py")}},
		{name: "zarr-python", program: []string{python, filepath.Join(source, "zarr_python.py")}},
		{
			name: "zarr-python-fused", program: []string{python, filepath.Join(source, "zarr_python.py")},
			adjust: func(r *protocol.Request) { r.Pipeline = "fused" },
		},
		{name: "zarrita", program: []string{"node", filepath.Join(node, "main.js")}},
		{name: "limit", program: []string{bin("limit")}, bound: true},
	}
}

// command lists the benchmark operations that the command can do.
func command(r row, q protocol.Request) []string {
	switch {
	case r.remote:
	case q.Work == protocol.ReadAll:
		return []string{"export", q.Store, "--format", "raw"}
	case q.Work == protocol.Open:
		return []string{"info", q.Store, "--json"}
	case q.Work == protocol.Members:
		return []string{"tree", q.Store, "--json"}
	}
	return nil
}

// present returns the installed candidates, and the names of the others.
func present(cache string, wanted []string) (found []candidate, missing []string, err error) {
	all := allCandidates(cache)
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(c candidate) bool { return c.name == name }) {
			return nil, nil, fmt.Errorf("no candidate %q; the candidates are %s", name, strings.Join(names(all), ", "))
		}
	}
	for _, c := range all {
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, c.name):
		case c.available():
			found = append(found, c)
		default:
			missing = append(missing, c.name)
		}
	}
	return found, missing, nil
}

// available reports whether the program and its script exist.
func (c candidate) available() bool {
	for i, name := range c.program {
		// The first word may be a name on the path, the others are files.
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if _, err := exec.LookPath(name); i > 0 || err != nil {
			return false
		}
	}
	return true
}

func names(all []candidate) (list []string) {
	for _, c := range all {
		list = append(list, c.name)
	}
	return list
}

// values fills dst with the elements of the box from begin to end, in C order and little
// endian.
type values func(begin, end []int64, dst []byte)

// rows calls f for every row of a box along its last axis, with the index of its first
// element and its position in dst.
func rows(begin, end []int64, size int64, dst []byte, f func(at []int64, row []byte)) {
	last := len(begin) - 1
	n := size * (end[last] - begin[last])
	at := append([]int64(nil), begin...)
	for ; int64(len(dst)) >= n && n > 0; dst = dst[n:] {
		f(at, dst[:n])
		for k := last - 1; k >= 0; k-- {
			if at[k]++; at[k] < end[k] {
				break
			}
			at[k] = begin[k]
		}
	}
}

// base is the part of a value that is constant along a row. The values of zarr_benchmarks
// are g2 + g1²/32 + g0³.
func base(at []int64) int64 {
	var b int64
	if n := len(at); n > 1 {
		b = at[n-2] * at[n-2] / 32
		if n > 2 {
			b += at[n-3] * at[n-3] * at[n-3]
		}
	}
	return b + at[len(at)-1]
}

func uint16s(begin, end []int64, dst []byte) {
	rows(begin, end, 2, dst, func(at []int64, row []byte) {
		v := uint16(base(at))
		for i := 0; i < len(row); i += 2 {
			binary.LittleEndian.PutUint16(row[i:], v)
			v++
		}
	})
}

func uint8s(begin, end []int64, dst []byte) {
	rows(begin, end, 1, dst, func(at []int64, row []byte) {
		v := uint8(base(at))
		for i := range row {
			row[i] = v
			v++
		}
	})
}

// float32s are a smooth field with some noise, in hundredths, like temperatures.
func float32s(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		z, y, x := at[0], at[1], at[2]
		level := 280 + 15*math.Sin(float64(z)/40)*math.Cos(float64(y)/55)
		for i := 0; i < len(row); i += 4 {
			noise := noise(uint64(z)<<40|uint64(y)<<20|uint64(x)) * 0.1
			v := math.Round((level+wave[x&1023]+noise)*100) / 100
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			x++
		}
	})
}

// wave is the field along its last axis.
var wave = func() (w [1024]float64) {
	for i := range w {
		w[i] = 3 * math.Sin(float64(i)/7)
	}
	return w
}()

// noise returns a number from -0.5 to 0.5 that depends on n (splitmix64).
func noise(n uint64) float64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float64((n^n>>31)>>11)/(1<<53) - 0.5
}

// days are planes of float32 that contain their own number.
func days(begin, end []int64, dst []byte) { since(0)(begin, end, dst) }

// since returns days whose planes before first are zero.
func since(first int64) values {
	return func(begin, end []int64, dst []byte) {
		rows(begin, end, 4, dst, func(at []int64, row []byte) {
			bits := uint32(0)
			if at[0] >= first {
				bits = math.Float32bits(float32(at[0]))
			}
			for i := 0; i < len(row); i += 4 {
				binary.LittleEndian.PutUint32(row[i:], bits)
			}
		})
	}
}

// sevens fills dst with the fill value of arrays that are only opened.
func sevens(_, _ []int64, dst []byte) {
	for i := range dst {
		dst[i] = 7
	}
}

// fields is a smooth field with some noise like that of float32s, of any rank. A block of
// noise repeats, so that making the elements does not take longer than the work.
func fields(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		var z, y int64
		if n := len(at); n > 1 {
			y = at[n-2]
			if n > 2 {
				z = at[n-3]
			}
		}
		x := at[len(at)-1]
		level, start := waves[(z*13+y*7)&1023], z*8191+y*127
		for i := 0; i < len(row); i += 4 {
			v := float32(int32((280+level+waves[x&1023])*100)+noises[(start+x)&(1<<16-1)]) / 100
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(v))
			x++
		}
	})
}

var waves = func() (w [1024]float32) {
	for i := range w {
		w[i] = float32(wave[i])
	}
	return w
}()

var noises = func() (all [1 << 16]int32) {
	for i := range all {
		all[i] = int32(10 * noise(uint64(i)))
	}
	return all
}()
