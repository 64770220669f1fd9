// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// naive is a chunk grid as the documents describe it, read with big numbers and loops.
type naive struct {
	shape []int64
	axes  []naiveAxis
	notes int
}

type naiveAxis struct {
	step           int64 // 0 where edges are listed
	trimmed        bool
	edges, encoded []grid.Run // neighbours of one length are merged
}

// readNaive reads a grid. It returns false if the grid must be refused.
func readNaive(shape []int64, name, config string) (n naive, ok bool) {
	if _, err := strictjson.Parse([]byte(config), strictjson.Limits{}); err != nil {
		return n, false // the tests of package strictjson check whether that is right
	}
	d := json.NewDecoder(strings.NewReader(config))
	d.UseNumber()
	var members map[string]any
	if d.Decode(&members) != nil || members == nil || slices.Min(shape) < 0 {
		return n, false
	}
	allowed, list := []string{"chunk_shape"}, "chunk_shape"
	switch name {
	case "rectilinear":
		allowed, list = []string{"kind", "chunk_shapes", "encoded_chunk_shapes"}, "chunk_shapes"
		if members["kind"] != "inline" {
			return n, false
		}
	case "rectangular":
		allowed = append(allowed, "separator")
		if s, there := members["separator"]; there {
			if _, isText := s.(string); !isText {
				return n, false
			}
		}
		n.notes = 1
	}
	for m := range members {
		if !slices.Contains(allowed, m) {
			return n, false
		}
	}
	entries, isList := members[list].([]any)
	if !isList || len(entries) != len(shape) {
		return n, false
	}
	n.shape = shape
	lists := 0
	for _, e := range entries {
		if _, isList := e.([]any); isList {
			lists++
		}
	}
	if name == "regular" && lists > 0 && lists < len(entries) {
		name, n.notes = "mixed", 1
	}
	for i, e := range entries {
		a, ok := n.axis(name, e, shape[i])
		if !ok {
			return n, false
		}
		n.axes = append(n.axes, a)
	}
	encoded, there := members["encoded_chunk_shapes"]
	if !there {
		return n, true
	}
	entries, isList = encoded.([]any)
	if !isList || len(entries) != len(shape) {
		return n, false
	}
	for i, e := range entries {
		if !n.axes[i].encode(e) {
			return n, false
		}
	}
	return n, true
}

// axis reads an entry of chunk_shape or chunk_shapes.
func (n *naive) axis(name string, entry any, extent int64) (a naiveAxis, ok bool) {
	if list, isList := entry.([]any); isList {
		if name == "regular" || name == "zarrs.regular_bounded" {
			return a, false
		}
		runs, sum, ok := naiveRuns(list, name != "rectangular")
		if ok && sum == 1 && extent == 0 {
			if _, isPair := list[0].([]any); isPair {
				runs = nil // the placeholder of an axis without edges
			}
		}
		a.edges, a.encoded = runs, runs
		return a, ok && sum >= extent && (name != "rectangular" || sum == extent)
	}
	step, ok := naiveInteger(entry)
	if name == "regular" && ok && step == 0 && extent == 0 {
		step, n.notes = 1, 1
	}
	if !ok || step < 1 {
		return a, false
	}
	a.step, a.trimmed = step, name == "zarrs.regular_bounded"
	chunks := extent / step
	if extent%step > 0 {
		chunks++
	}
	if chunks > 0 {
		a.edges = []grid.Run{{Length: step, Count: chunks}}
	}
	a.encoded = a.edges
	if a.trimmed && extent%step > 0 {
		a.encoded = nil
		if extent > step {
			a.encoded = []grid.Run{{Length: step, Count: extent / step}}
		}
		a.encoded = append(a.encoded, grid.Run{Length: extent % step, Count: 1})
	}
	return a, true
}

// encode reads an entry of encoded_chunk_shapes.
func (a *naiveAxis) encode(entry any) bool {
	list, isList := entry.([]any)
	cells := int64(0)
	for _, r := range a.edges {
		cells += r.Count
	}
	if !isList {
		n, ok := naiveInteger(entry)
		if a.encoded = nil; cells > 0 {
			a.encoded = []grid.Run{{Length: n, Count: cells}}
		}
		if !ok || n < max(1, a.step) {
			return false
		}
	} else {
		runs, _, ok := naiveRuns(list, true)
		if !ok {
			return false
		}
		a.encoded = runs
	}
	edges, encoded := slices.Clone(a.edges), slices.Clone(a.encoded)
	for len(edges) > 0 && len(encoded) > 0 {
		if encoded[0].Length < edges[0].Length {
			return false
		}
		count := min(edges[0].Count, encoded[0].Count)
		edges, encoded = without(edges, count), without(encoded, count)
	}
	return len(edges) == 0 && len(encoded) == 0
}

// without removes cells from the front.
func without(runs []grid.Run, count int64) []grid.Run {
	if runs[0].Count -= count; runs[0].Count == 0 {
		return runs[1:]
	}
	return runs
}

// naiveRuns reads a list of lengths and pairs.
func naiveRuns(list []any, pairs bool) (runs []grid.Run, total int64, ok bool) {
	sum := new(big.Int)
	for _, e := range list {
		pair, isPair := e.([]any)
		if !isPair {
			pair = []any{e, json.Number("1")}
		}
		if isPair && !pairs || len(pair) != 2 {
			return nil, 0, false
		}
		length, ok := naiveInteger(pair[0])
		count, also := naiveInteger(pair[1])
		if !ok || !also || length < 1 || count < 1 {
			return nil, 0, false
		}
		sum.Add(sum, new(big.Int).Mul(big.NewInt(length), big.NewInt(count)))
		if !sum.IsInt64() {
			return nil, 0, false
		}
		if last := len(runs) - 1; last >= 0 && runs[last].Length == length {
			runs[last].Count += count
			continue
		}
		runs = append(runs, grid.Run{Length: length, Count: count})
	}
	return runs, sum.Int64(), len(runs) > 0
}

// naiveInteger returns an integral number. It returns false if there is none within
// int64.
func naiveInteger(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(n.String()), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return 0, true
	}
	if scientific {
		e, ok := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
		if !ok || e.CmpAbs(big.NewInt(int64(len(mantissa)+30))) > 0 {
			return 0, false // a fraction, or too large
		}
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// FuzzParseAgainstNaive compares what Parse accepts, and as what, with the naive reader.
func FuzzParseAgainstNaive(f *testing.F) {
	for _, s := range []struct {
		name, config string
	}{
		{"regular", `{"chunk_shape": [3, 4]}`},
		{"regular", `{"chunk_shape": [3, [4, [1, 3]]]}`},
		{"regular", `{"chunk_shape": [0, 4e0]}`},
		{"rectangular", `{"separator": "/", "chunk_shape": [[10, 20, 10], 10]}`},
		{"zarrs.regular_bounded", `{"chunk_shape": [3, 4]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[10, [20, 2]], 7]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[[1, 1000000000000000000]], 1]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[9223372036854775807, 1], 1]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[4.0, [2e1, 2]], [1,2,3,4,5,6,7,8,9,10]]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[20, 20], 4], "encoded_chunk_shapes": [24, [4, 5]]}`},
		{"rectilinear", `{"kind": "inline", "chunk_shapes": [[` + strings.Repeat("1, 2, 3, 5, ", 30) + `7], 4]}`},
	} {
		f.Add(s.name, s.config, int64(40), int64(7))
	}
	f.Fuzz(func(t *testing.T, name, config string, rows, columns int64) {
		if !slices.Contains([]string{"regular", "rectilinear", "rectangular", "zarrs.regular_bounded"}, name) {
			name = "rectilinear"
		}
		shape := []int64{rows, columns}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g, err := grid.Parse(shape, name, []byte(config), &withEncoded)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+64*uint64(len(config)) {
			t.Fatalf("%d bytes were allocated for %d bytes of JSON", used, len(config))
		}
		n, ok := readNaive(shape, name, config)
		if (err == nil) != ok {
			t.Fatalf("%s %s for shape %v: got %v, it should be accepted: %v", name, config, shape, err, ok)
		}
		if err == nil {
			n.check(t, g)
		}
	})
}

// TestParseAgainstNaive draws grids, most of them valid.
func TestParseAgainstNaive(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.IntRange(0, 40)
		number := rapid.Custom(func(t *rapid.T) string {
			switch odd.Draw(t, "odd") {
			case 0:
				return rapid.SampledFrom([]string{"0", "-1", "1.5", "true", "null", `"3"`, "{}", "9223372036854775808", "1e30"}).Draw(t, "wrong")
			case 1:
				return rapid.SampledFrom([]string{"4.0", "2e1", "40E-1", "9223372036854775807", "4611686018427387904", "1e18"}).Draw(t, "rare")
			}
			return strconv.Itoa(rapid.IntRange(1, 12).Draw(t, "length"))
		})
		edge := rapid.Custom(func(t *rapid.T) string {
			if odd.Draw(t, "run") < 8 {
				return "[" + number.Draw(t, "length") + ", " + number.Draw(t, "count") + "]"
			}
			return number.Draw(t, "edge")
		})
		entry := rapid.Custom(func(t *rapid.T) string {
			if rapid.Bool().Draw(t, "bare") {
				return number.Draw(t, "step")
			}
			return "[" + strings.Join(rapid.SliceOfN(edge, 0, 12).Draw(t, "edges"), ", ") + "]"
		})
		list := func(label string) string {
			return "[" + strings.Join(rapid.SliceOfN(entry, 2, 2).Draw(t, label), ", ") + "]"
		}
		name := rapid.SampledFrom([]string{"regular", "rectilinear", "rectilinear", "rectangular", "zarrs.regular_bounded"}).Draw(t, "name")
		config := `{"chunk_shape": ` + list("shape") + "}"
		if name == "rectilinear" {
			config = `{"kind": "inline", "chunk_shapes": ` + list("shapes")
			if rapid.Bool().Draw(t, "encoded") {
				config += `, "encoded_chunk_shapes": ` + list("encoded shapes")
			}
			config += "}"
		}
		shape := rapid.SliceOfN(rapid.Int64Range(0, 24), 2, 2).Draw(t, "extents")
		g, err := grid.Parse(shape, name, []byte(config), &withEncoded)
		n, ok := readNaive(shape, name, config)
		if (err == nil) != ok {
			t.Fatalf("%s %s for shape %v: got %v, it should be accepted: %v", name, config, shape, err, ok)
		}
		if err == nil {
			accepted++
			n.check(t, g)
		}
	})
	t.Logf("%d grids were accepted", accepted)
}

// check compares a grid with the naive one, and with itself after it was written and
// parsed.
func (n *naive) check(t failer, g *grid.Grid) {
	t.Helper()
	if len(g.Notes()) != n.notes {
		t.Fatalf("notes %q, want %d", g.Notes(), n.notes)
	}
	for i, want := range n.axes {
		a := g.Axis(i)
		edges, encoded := slices.Collect(a.Edges()), slices.Collect(a.Encoded())
		if a.Step() != want.step || a.IsTrimmed() != want.trimmed || !slices.Equal(edges, want.edges) || !slices.Equal(encoded, want.encoded) {
			t.Fatalf("axis %d: step %d, edges %v, stored as %v; want %+v", i, a.Step(), edges, encoded, want)
		}
		var cell, start int64
		for j, r := range want.edges { // the first and the last cell of every run
			for _, k := range []int64{0, r.Count - 1} {
				at := start + k*r.Length
				c, ok := a.Cell(cell + k)
				if !ok || c.Start != at || c.Edge != r.Length || c.Logical != max(0, min(r.Length, n.shape[i]-at)) {
					t.Fatalf("axis %d, run %d: cell %+v (%v), want one at %d", i, j, c, ok, at)
				}
				if chunk, _, ok := a.Locate(at); ok != (at < n.shape[i]) || ok && chunk != cell+k {
					t.Fatalf("axis %d: element %d is in chunk %d (%v), want %d", i, at, chunk, ok, cell+k)
				}
			}
			cell, start = cell+r.Count, start+r.Length*r.Count
		}
		if cell != a.Cells() {
			t.Fatalf("axis %d: %d cells, want %d", i, a.Cells(), cell)
		}
	}
	written := g.AppendConfiguration(nil)
	again, err := grid.Parse(n.shape, g.Name(), written, &withEncoded)
	if err != nil || !g.Equal(again) || again.Notes() != nil || !bytes.Equal(again.AppendConfiguration(nil), written) {
		t.Fatalf("it is written as %s and read as another (%v)", written, err)
	}
	for i := range g.Rank() {
		if _, err := grid.Parse(n.shape, g.Name(), g.AppendListed(nil), &withEncoded); err != nil {
			t.Fatalf("axis %d: listed as %s: %v", i, g.AppendListed(nil), err)
		}
	}
}

// TestParseMemory checks that short documents with large numbers take little memory.
func TestParseMemory(t *testing.T) {
	for _, tt := range []struct {
		extent int64
		config string
	}{
		{1e18, `"chunk_shapes": [[[1, 1000000000000000000]]]`},
		{7e9, `"chunk_shapes": [[[1, 1000000000], [2, 1000000000], [1, 1000000000], [2, 1000000000], [1, 1000000000]]]`},
		{1e18, `"chunk_shapes": [1], "encoded_chunk_shapes": [[[2, 1000000000000000000]]]`},
		{1e18, `"chunk_shapes": [[[1, 1000000000000000000]]], "encoded_chunk_shapes": [[[2, 999999999999999999], 3]]`},
		{1e18, `"chunk_shapes": [[` + strings.Repeat("[1, 1000000000000], [2, 1000000000000],", 100) + `1000000000000000000]]`},
	} {
		config := []byte(`{"kind": "inline", ` + tt.config + `}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const many = 100
		for range many {
			if _, err := grid.Parse([]int64{tt.extent}, "rectilinear", config, &withEncoded); err != nil {
				t.Fatalf("%s: %v", config, err)
			}
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / many; n > 4096+16*uint64(len(config)) {
			t.Errorf("%d bytes are allocated for %d bytes of JSON", n, len(config))
		}
	}
}
