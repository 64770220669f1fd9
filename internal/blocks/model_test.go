// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// problem is the arguments of one plan.
type problem struct {
	source, target *grid.Grid
	size, memory   int64
	options        *blocks.Options
}

// drawProblem draws grids of one small shape, and a budget that fits both.
func drawProblem(t *rapid.T) problem {
	rank := rapid.IntRange(0, 4).Draw(t, "rank")
	shape := make([]int64, rank)
	for i := range shape {
		shape[i] = rapid.Int64Range(0, []int64{60, 60, 16, 8, 6}[rank]).Draw(t, "extent")
		// Arrays without elements are rarely of interest.
		if shape[i] == 0 && rapid.IntRange(0, 9).Draw(t, "filled") > 0 {
			shape[i] = 1
		}
	}
	p := problem{
		source: drawGrid(t, shape, "source", 0),
		target: drawGrid(t, shape, "target", 1),
		size:   rapid.Int64Range(1, 3).Draw(t, "size"),
	}
	parts, read := drawParts(t, p.source), p.source
	if parts != nil && rapid.Bool().Draw(t, "parts fit") {
		read = parts
	}
	need := p.size * max(1, largest(read), largest(p.target))
	p.memory = need + rapid.Int64Range(0, 5*need).Draw(t, "room")
	p.options = &blocks.Options{
		Amplification: rapid.SampledFrom([]float64{0, 1, 1.3}).Draw(t, "amplification"),
		Request:       rapid.SampledFrom([]int64{0, 1, 5, 20}).Draw(t, "request"),
		Stages:        rapid.IntRange(0, 7).Draw(t, "stages"),
		Parts:         parts,
	}
	return p
}

// drawParts cuts the units of a grid along one axis, or returns nil.
func drawParts(t *rapid.T, g *grid.Grid) *grid.Grid {
	if g.Rank() == 0 || rapid.Bool().Draw(t, "no parts") {
		return nil
	}
	along := rapid.IntRange(0, g.Rank()-1).Draw(t, "axis of the parts")
	cuts := make([]grid.Cut, g.Rank())
	for i := range cuts {
		a := g.Axis(i)
		if a.IsTrimmed() || a.IsEncoded() {
			return nil
		}
		var edges []grid.Run
		for r := range a.Edges() {
			if i == along && r.Length > 1 {
				n := rapid.Int64Range(1, r.Length-1).Draw(t, "part")
				for range r.Count {
					edges = append(edges, grid.Run{Length: n, Count: 1}, grid.Run{Length: r.Length - n, Count: 1})
				}
				continue
			}
			edges = append(edges, r)
		}
		if cuts[i] = grid.Runs(edges...); len(edges) == 0 {
			cuts[i] = grid.Every(1)
		}
	}
	parts, err := grid.New(g.Shape(), cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// drawGrid draws a grid with regular, listed, overhanging and padded axes, or a trimmed
// one. Often its chunks are thin along every other axis from thin on, and whole along
// the others, so that one stage reads much too much.
func drawGrid(t *rapid.T, shape []int64, name string, thin int) *grid.Grid {
	cuts := make([]grid.Cut, len(shape))
	trimmed := rapid.IntRange(0, 5).Draw(t, name+" trimmed") == 0
	skewed := rapid.Bool().Draw(t, name+" skewed")
	for i, n := range shape {
		if skewed && !trimmed {
			cuts[i] = grid.Every([]int64{1, n + 1}[(i+thin)%2])
			continue
		}
		if trimmed {
			cuts[i] = grid.EveryTrimmed(rapid.Int64Range(1, n+3).Draw(t, name))
			continue
		}
		cuts[i] = drawCut(t, n, name)
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func drawCut(t *rapid.T, extent int64, name string) grid.Cut {
	if rapid.Bool().Draw(t, name+" regular") {
		n := rapid.Int64Range(1, extent+3).Draw(t, name)
		if rapid.IntRange(0, 3).Draw(t, name+" padded") == 0 {
			return grid.Every(n).EncodedAs(grid.Every(n + 2))
		}
		return grid.Every(n)
	}
	var edges, encoded []int64
	longest := rapid.Int64Range(1, max(2, extent/2)).Draw(t, name+" longest")
	for sum := int64(0); sum <= extent; {
		n := rapid.Int64Range(1, longest).Draw(t, name)
		// Runs of equal lengths take other paths than single cells.
		for range rapid.SampledFrom([]int{1, 1, 3}).Draw(t, name+" count") {
			edges, encoded = append(edges, n), append(encoded, n+rapid.Int64Range(0, 2).Draw(t, name+" padding"))
			sum += n
		}
	}
	if rapid.IntRange(0, 3).Draw(t, name+" padded") == 0 {
		return grid.Edges(edges...).EncodedAs(grid.Edges(encoded...))
	}
	return grid.Edges(edges...)
}

// elements returns the number of elements of a shape.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

// largest returns the elements of the largest chunk within the array.
func largest(g *grid.Grid) int64 {
	n := int64(0)
	for c := range g.All() {
		n = max(n, elements(c.Logical))
	}
	return n
}

// encoded returns the bytes of all chunks.
func encoded(g *grid.Grid, size int64) int64 {
	n := int64(0)
	for c := range g.All() {
		n += size * elements(c.Encoded)
	}
	return n
}

// TestPlanAgainstModel checks plans of small arrays, one element at a time.
func TestPlanAgainstModel(t *testing.T) {
	stages := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		plan, err := blocks.New(p.source, p.target, p.size, p.memory, p.options)
		if err != nil {
			t.Fatal(err)
		}
		again, err := blocks.New(p.source, p.target, p.size, p.memory, p.options)
		if err != nil || !reflect.DeepEqual(plan, again) {
			t.Fatalf("plans differ: %+v and %+v", plan, again)
		}
		stages[len(plan.Stages)]++
		m := &machine{t: t, p: p, plan: plan}
		m.run()
		m.compare()
	})
	t.Logf("plans by number of stages: %v", stages)
}

// TestStagesAgainstModel does the same for any number of stages, whatever they cost.
func TestStagesAgainstModel(t *testing.T) {
	unfit, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if slices.Contains(p.source.Shape(), 0) {
			return
		}
		all++
		n := rapid.IntRange(2, 6).Draw(t, "stages")
		plan, err := blocks.Staged(p.source, p.target, p.size, p.memory, n, p.options)
		if err != nil {
			t.Fatal(err)
		}
		if plan == nil {
			unfit++
			return
		}
		(&machine{t: t, p: p, plan: plan}).run()
	})
	if unfit > all/20 {
		t.Errorf("%d of %d plans exceed the budget between the ends", unfit, all)
	}
}

// machine executes a plan on an array whose elements are their own indices.
type machine struct {
	t       *rapid.T
	p       problem
	plan    *blocks.Plan
	scratch map[string][]int64 // written by the stage before
	result  []int64            // by element; 0 until written
	cost    float64
}

// run executes the plan. It compares the figures and the result.
func (m *machine) run() {
	for k := range m.plan.Stages {
		m.stage(k)
	}
	for i, v := range m.result {
		if v != int64(i)+1 {
			m.t.Fatalf("element %d is %d", i, v-1)
		}
	}
	if d := m.cost - m.plan.Cost; d > 1e-6*m.cost || d < -1e-6*m.cost {
		m.t.Fatalf("cost %g, want %g", m.plan.Cost, m.cost)
	}
}

// stage executes a stage and compares the figures.
func (m *machine) stage(k int) {
	s := m.plan.Stages[k]
	want := blocks.Stage{Blocks: s.Blocks, From: blocks.Scratch, To: blocks.Scratch, Amplification: 1}
	if k == 0 {
		want.From = blocks.Array
	}
	if k == len(m.plan.Stages)-1 {
		want.To = blocks.Array
		m.result = make([]int64, elements(m.p.source.Shape()))
	}
	written := map[string][]int64{}
	for c := range s.Blocks.All() {
		index := make([]int64, len(c.Index))
		if s.Index(want.Tasks, index); !slices.Equal(index, c.Index) {
			m.t.Fatalf("stage %d: task %d is block %v, not %v", k, want.Tasks, index, c.Index)
		}
		want.Tasks++
		want.LargestBlock = max(want.LargestBlock, m.p.size*elements(c.Logical))
		data := m.read(k, c, &want)
		if want.To == blocks.Scratch {
			want.Writes++
			want.BytesWritten += m.p.size * int64(len(data))
			written[fmt.Sprint(c.Index)] = m.packed(k, c, data)
			continue
		}
		m.write(c, data, &want)
	}
	if k == 0 {
		units := m.p.source
		if m.p.options.Parts != nil {
			units = m.p.options.Parts
		}
		if n := encoded(units, m.p.size); n > 0 {
			want.Amplification = float64(want.BytesRead) / float64(n)
		}
	}
	if d := s.Amplification - want.Amplification; d > -1e-9 && d < 1e-9 {
		s.Amplification = want.Amplification
	}
	if s != want {
		m.t.Fatalf("stage %d: %+v, want %+v", k, s, want)
	}
	if s.LargestBlock > m.p.memory {
		m.t.Fatalf("stage %d: a block of %d bytes, at most %d fit", k, s.LargestBlock, m.p.memory)
	}
	m.scratch = written
	m.cost += float64(s.BytesRead+s.BytesWritten) + m.request()*float64(s.Reads+s.Writes)
}

// request returns the bytes that a request counts as.
func (m *machine) request() float64 {
	if m.p.options.Request > 0 {
		return float64(m.p.options.Request)
	}
	return 1 << 20
}

// read returns the elements of a block, in C order. It counts what it takes to read them.
func (m *machine) read(k int, c *grid.Chunk, s *blocks.Stage) []int64 {
	data := make([]int64, elements(c.Logical))
	if s.From == blocks.Array {
		units, err := m.p.source.Touching(c.Box())
		if err != nil {
			m.t.Fatal(err)
		}
		for u := range units {
			s.Reads++
			if m.p.options.Parts == nil {
				s.BytesRead += m.p.size * elements(u.Encoded)
			}
			if len(m.plan.Stages) > 1 && !slices.Equal(clip(u.Box(), c.Box()).Shape(), u.Logical) {
				m.t.Fatalf("stage 0: block %v cuts unit %v", c.Index, u.Index)
			}
		}
		if m.p.options.Parts != nil {
			parts, err := m.p.options.Parts.Touching(c.Box())
			if err != nil {
				m.t.Fatal(err)
			}
			for u := range parts {
				s.BytesRead += m.p.size * elements(u.Encoded)
			}
		}
		m.each(c.Box(), c.Box(), func(at int, element int64) { data[at] = element + 1 })
		return data
	}
	pieces, err := blocks.Sources(m.plan.Stages[k-1].Blocks, m.plan.Stages[k].Blocks, c.Index)
	if err != nil {
		m.t.Fatal(err)
	}
	for p := range pieces {
		object := m.scratch[fmt.Sprint(p.Block)]
		n, _ := p.Box.Len()
		object = object[p.Offset : p.Offset+n]
		s.Reads++
		s.BytesRead += m.p.size * n
		m.each(c.Box(), p.Box, func(at int, _ int64) { data[at], object = object[0], object[1:] })
	}
	return data
}

// packed returns the scratch object of a block.
func (m *machine) packed(k int, c *grid.Chunk, data []int64) []int64 {
	pieces, err := blocks.Pieces(m.plan.Stages[k].Blocks, m.plan.Stages[k+1].Blocks, c.Index)
	if err != nil {
		m.t.Fatal(err)
	}
	var object []int64
	for p := range pieces {
		if p.Offset != int64(len(object)) {
			m.t.Fatalf("stage %d: piece %v of block %v is at %d, not at %d", k, p.Box, c.Index, p.Offset, len(object))
		}
		next, ok := m.plan.Stages[k+1].Blocks.Chunk(p.Block)
		if !ok || !slices.Equal(clip(next.Box(), c.Box()), p.Box) {
			m.t.Fatalf("stage %d: piece %v is not what blocks %v and %v share", k, p.Box, c.Index, p.Block)
		}
		m.each(c.Box(), p.Box, func(at int, _ int64) { object = append(object, data[at]) })
	}
	if len(object) != len(data) {
		m.t.Fatalf("stage %d: block %v has %d elements, its pieces have %d", k, c.Index, len(data), len(object))
	}
	return object
}

// write writes the units of a block and checks that it holds each as a whole.
func (m *machine) write(c *grid.Chunk, data []int64, s *blocks.Stage) {
	units, err := m.p.target.Touching(c.Box())
	if err != nil {
		m.t.Fatal(err)
	}
	for u := range units {
		s.Writes++
		s.BytesWritten += m.p.size * elements(u.Encoded)
		if !slices.Equal(clip(u.Box(), c.Box()).Shape(), u.Logical) {
			m.t.Fatalf("block %v cuts write unit %v", c.Index, u.Index)
		}
		m.each(c.Box(), u.Box(), func(at int, element int64) {
			if m.result[element] != 0 {
				m.t.Fatalf("element %d is written twice", element)
			}
			m.result[element] = data[at]
		})
	}
}

// compare compares the plan with the naive one: a task for each write unit.
func (m *machine) compare() {
	reads, bytes := int64(0), encoded(m.p.target, m.p.size)
	writes := int64(0)
	for c := range m.p.target.All() {
		writes++
		units, err := m.p.source.Touching(c.Box())
		if err != nil {
			m.t.Fatal(err)
		}
		for u := range units {
			reads++
			bytes += m.p.size * elements(u.Encoded)
		}
	}
	if len(m.plan.Stages) == 1 && m.plan.Stages[0].Reads > reads {
		m.t.Fatalf("%d requests, the naive plan has %d", m.plan.Stages[0].Reads, reads)
	}
	if naive := float64(bytes) + m.request()*float64(reads+writes); m.plan.Cost > naive*(1+1e-9) {
		m.t.Fatalf("cost %g, the naive plan costs %g", m.plan.Cost, naive)
	}
}

// each calls visit for every element of a box within an outer box, in C order: with the
// position within the outer box, and within the array.
func (m *machine) each(outer, box grid.Box, visit func(at int, element int64)) {
	shape := m.p.source.Shape()
	for index := range box.Indices() {
		at, element := int64(0), int64(0)
		for i, x := range index {
			at = at*outer[i].Len() + x - outer[i].Start
			element = element*shape[i] + x
		}
		visit(int(at), element)
	}
}

// clip returns what two boxes share.
func clip(a, b grid.Box) grid.Box {
	c := slices.Clone(a)
	for i := range c {
		c[i] = a[i].Intersect(b[i])
	}
	return c
}
