// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func TestPropose(t *testing.T) {
	for _, tt := range []struct {
		name           string
		shape          []int64
		size           int64
		how            grid.Proposing
		chunk, shard   []int64
		chunks, shards int64
		advice         string
	}{
		{"the example of ZEP 2", []int64{25000, 18000, 6000}, 1, grid.Proposing{Inner: 256 * kib, Shard: 8 * gib},
			[]int64{64, 64, 64}, []int64{2048, 2048, 2048}, 10_364_628, 351, ""},
		{"with its chunks", []int64{25000, 18000, 6000}, 1, grid.Proposing{Chunk: []int64{64, 64, 64}, Shard: 8 * gib},
			[]int64{64, 64, 64}, []int64{2048, 2048, 2048}, 10_364_628, 351, ""},
		{"as it is", []int64{25000, 18000, 6000}, 1, grid.Proposing{}, []int64{128, 128, 64}, []int64{1024, 1024, 512}, 2_597_784, 5400, ""},
		{"hourly maps", []int64{8760, 721, 1440}, 4, grid.Proposing{}, []int64{64, 64, 64}, []int64{512, 384, 512}, 37_812, 108, ""},
		{"colours", []int64{3, 10_000, 10_000}, 2, grid.Proposing{}, []int64{3, 256, 512}, []int64{3, 5120, 10240}, 800, 2, ""},
		{"one axis", []int64{1 << 40}, 8, grid.Proposing{}, []int64{128 * kib}, []int64{64 * mib}, 8 * mib, 16 * kib, ""},
		{"cut evenly", []int64{300, 3000}, 8, grid.Proposing{Inner: 512 * kib, Shard: 2 * mib}, []int64{150, 256}, []int64{300, 512}, 24, 6, ""},
		{"one shard", []int64{1000, 1000}, 8, grid.Proposing{Chunk: []int64{64, 64}}, []int64{64, 64}, []int64{1024, 1024}, 256, 1, "smaller than a shard"},
		{"one chunk", []int64{100, 100}, 8, grid.Proposing{}, []int64{100, 100}, []int64{100, 100}, 1, 1, "no more than one chunk"},
		{"no room", []int64{1000, 1000}, 8, grid.Proposing{Inner: mib, Shard: 1500 * kib}, []int64{256, 512}, []int64{256, 512}, 8, 8, "no room for two inner chunks of 1048576 bytes"},
		{"a small shard", []int64{1000, 1000}, 8, grid.Proposing{Shard: 4 * kib}, []int64{16, 32}, []int64{16, 32}, 2016, 2016, "no room"},
		{"chunks beyond the axis", []int64{10, 1000}, 1, grid.Proposing{Chunk: []int64{64, 64}, Shard: 16 * kib}, []int64{64, 64}, []int64{64, 256}, 16, 4, ""},
		{"as many as may be", []int64{1 << 40, 1 << 40}, 1, grid.Proposing{Inner: 1, Shard: 1 << 60}, []int64{1, 1}, []int64{4096, 4096}, -1, 1 << 56, ""},
		{"no axes", []int64{}, 8, grid.Proposing{}, []int64{}, []int64{}, 1, 1, "no more than one chunk"},
		{"no elements", []int64{0, 10_000_000}, 8, grid.Proposing{}, []int64{1, 128 * kib}, []int64{1, 77 * 128 * kib}, 0, 0, "no more than one chunk"},
		{"elements larger than all", []int64{10, 10}, gib, grid.Proposing{}, []int64{1, 1}, []int64{1, 1}, 100, 100, "no room"},
		{"more than can be counted", []int64{math.MaxInt64, math.MaxInt64}, 8, grid.Proposing{}, []int64{256, 512}, []int64{8192, 8192}, -1, -1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := grid.Propose(tt.shape, tt.size, tt.how)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Chunk, tt.chunk) || !slices.Equal(p.Shard, tt.shard) || !slices.Equal(p.Shape, tt.shape) {
				t.Errorf("chunk %v, shard %v; want %v, %v", p.Chunk, p.Shard, tt.chunk, tt.shard)
			}
			for what, number := range map[string]struct {
				of   func() (int64, bool)
				want int64
			}{"chunks": {p.NumChunks, tt.chunks}, "shards": {p.NumShards, tt.shards}} {
				if n, ok := number.of(); ok != (number.want >= 0) || ok && n != number.want {
					t.Errorf("%d %s (%v), want %d", n, what, ok, number.want)
				}
			}
			if (p.Advice == "") != (tt.advice == "") || !strings.Contains(p.Advice, tt.advice) {
				t.Errorf("advice %q, want %q", p.Advice, tt.advice)
			}
		})
	}
	for _, tt := range []struct {
		shape []int64
		size  int64
		how   grid.Proposing
		want  error
	}{
		{[]int64{1}, 0, grid.Proposing{}, grid.ErrInvalid},
		{[]int64{1, -1}, 1, grid.Proposing{}, grid.ErrInvalid},
		{make([]int64, 65), 1, grid.Proposing{}, grid.ErrInvalid},
		{[]int64{1}, 1, grid.Proposing{Inner: -1}, grid.ErrInvalid},
		{[]int64{1}, 1, grid.Proposing{Shard: -1}, grid.ErrInvalid},
		{[]int64{1}, 1, grid.Proposing{Chunk: []int64{}}, grid.ErrInvalid},
		{[]int64{1}, 1, grid.Proposing{Chunk: []int64{0}}, grid.ErrInvalid},
		{[]int64{1, 1}, 1, grid.Proposing{Chunk: []int64{1 << 62, 1 << 62}}, grid.ErrOverflow},
	} {
		if _, err := grid.Propose(tt.shape, tt.size, tt.how); !errors.Is(err, tt.want) {
			t.Errorf("%v of %d bytes, %+v: %v, want %v", tt.shape, tt.size, tt.how, err, tt.want)
		}
	}
}

// TestProposeKeepsItsWord checks what Propose promises, for any numbers.
func TestProposeKeepsItsWord(t *testing.T) {
	extents := rapid.OneOf(rapid.Int64Range(0, 3000), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(extents, 0, 5).Draw(t, "shape")
		size := rapid.SampledFrom([]int64{1, 2, 4, 8, 12, 1 << 20}).Draw(t, "size")
		bytes := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1<<24), rapid.Int64Range(1, math.MaxInt64))
		how := grid.Proposing{Inner: bytes.Draw(t, "inner"), Shard: bytes.Draw(t, "shard")}
		given := rapid.Bool().Draw(t, "given")
		if given {
			how.Chunk = rapid.SliceOfN(rapid.Int64Range(1, 300), len(shape), len(shape)).Draw(t, "chunk")
		}
		p, err := grid.Propose(shape, size, how)
		if err != nil {
			if given && errors.Is(err, grid.ErrOverflow) {
				return
			}
			t.Fatal(err)
		}
		inner, shard := how.Inner, how.Shard
		if shard == 0 {
			shard = 512 << 20
		}
		if inner == 0 {
			inner = min(1<<20, shard)
		}
		elements, per := int64(1), int64(1)
		for i, n := range p.Chunk {
			elements *= n
			if given && n != how.Chunk[i] || !given && (n < 1 || n > max(1, shape[i])) {
				t.Fatalf("chunk %v", p.Chunk)
			}
			m := p.Shard[i] / n
			per *= m
			if m < 1 || p.Shard[i]%n != 0 || m > 1 && p.Shard[i]-n >= shape[i] {
				t.Fatalf("shard %v of chunks %v for shape %v", p.Shard, p.Chunk, shape)
			}
		}
		if p.ChunkBytes != elements*size || p.PerShard != per || p.ShardBytes != per*elements*size {
			t.Fatalf("counts of %+v", p)
		}
		if !given && elements > 1 && p.ChunkBytes > inner || per > 1 && p.ShardBytes > shard || per > 1<<24 {
			t.Fatalf("%+v for %+v", p, how)
		}
		checkProposal(t, p)
	})
}

// checkProposal cuts an array as proposed and counts its chunks.
func checkProposal(t *rapid.T, p grid.Proposal) {
	cuts := make([]grid.Cut, len(p.Chunk))
	for i, n := range p.Chunk {
		cuts[i] = grid.Every(n)
	}
	shards, err := grid.New(p.Shape, grid.Chunks(p.Shard...)...)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := shards.Divided(cuts...)
	if err != nil {
		t.Fatal(err)
	}
	same := func(g *grid.Grid, n int64, ok bool) bool {
		m, also := g.NumChunks()
		return also == ok && (!ok || m == n)
	}
	chunks, ok := p.NumChunks()
	objects, also := p.NumShards()
	if !same(inner, chunks, ok) || !same(shards, objects, also) {
		t.Fatalf("%d chunks (%v) in %d shards (%v)", chunks, ok, objects, also)
	}
	if few := ok && chunks <= 1 || also && objects <= 1 || p.PerShard == 1; few != (p.Advice != "") {
		t.Fatalf("%d chunks in %d shards of %d, and the advice is %q", chunks, objects, p.PerShard, p.Advice)
	}
}

// The volume of ZEP 2, which proposed shards. A viewer reads ten million small chunks one
// by one, but they are stored in few objects.
func ExamplePropose() {
	p, err := grid.Propose([]int64{25000, 18000, 6000}, 1, grid.Proposing{Inner: 256 << 10, Shard: 8 << 30})
	if err != nil {
		panic(err)
	}
	chunks, _ := p.NumChunks()
	shards, _ := p.NumShards()
	fmt.Println("inner chunks of", p.Chunk, "in shards of", p.Shard)
	fmt.Println(chunks, "inner chunks in", shards, "objects, up to", p.PerShard, "in one")
	// Output:
	// inner chunks of [64 64 64] in shards of [2048 2048 2048]
	// 10364628 inner chunks in 351 objects, up to 32768 in one
}

func TestTarget(t *testing.T) {
	const MiB = 1 << 20
	for _, tt := range []struct {
		shape       []int64
		size, bytes int64
		want        []int64
	}{
		{[]int64{}, 4, MiB, []int64{}},
		{[]int64{0}, 4, MiB, []int64{1}},
		{[]int64{0, 5}, 4, MiB, []int64{1, 5}},
		{[]int64{100, 100}, 8, MiB, []int64{100, 100}},
		{[]int64{1_000_000_000}, 8, 8 * MiB, []int64{1048219}},
		{[]int64{1000, 1000, 1000}, 4, 8 * MiB, []int64{125, 125, 125}},
		{[]int64{1024, 1024, 1024}, 4, 8 * MiB, []int64{128, 128, 128}},
		{[]int64{8760, 721, 1440}, 4, 8 * MiB, []int64{131, 121, 131}},
		{[]int64{1_000_000, 10}, 8, MiB, []int64{12988, 10}},
		{[]int64{3, 10_000_000}, 1, MiB, []int64{3, 344828}},
		{[]int64{50, 50}, 16, 8, []int64{1, 1}},
		{[]int64{math.MaxInt64, math.MaxInt64}, 1, math.MaxInt64, []int64{3037000499, 3037000500}},
	} {
		got, err := grid.Target(tt.shape, tt.size, tt.bytes)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v of %d bytes in chunks of %d: %v (%v), want %v", tt.shape, tt.size, tt.bytes, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		shape       []int64
		size, bytes int64
	}{{[]int64{1}, 0, 1}, {[]int64{1}, 1, 0}, {[]int64{1, -1}, 1, 1}, {make([]int64, 65), 1, 1}} {
		if _, err := grid.Target(tt.shape, tt.size, tt.bytes); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%v of %d bytes in chunks of %d: %v", tt.shape, tt.size, tt.bytes, err)
		}
	}
}

// TestTargetKeepsItsWord checks the promised size, that an array that fits is one chunk,
// and that the longest axis could not be cut evenly into fewer chunks.
func TestTargetKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 2000), 1, 5).Draw(t, "shape")
		size := rapid.SampledFrom([]int64{1, 2, 4, 8, 12}).Draw(t, "size")
		bytes := rapid.Int64Range(1, 1<<20).Draw(t, "bytes")
		chunk, err := grid.Target(shape, size, bytes)
		if err != nil {
			t.Fatal(err)
		}
		elements, whole, longest := int64(1), float64(size), 0
		for i, n := range chunk {
			elements *= n
			whole *= float64(max(1, shape[i]))
			if n < 1 || n > max(1, shape[i]) {
				t.Fatalf("chunk %v of shape %v", chunk, shape)
			}
			if shape[i] >= shape[longest] {
				longest = i
			}
		}
		if elements > 1 && elements*size > bytes {
			t.Fatalf("chunk %v takes %d bytes, at most %d are wanted", chunk, elements*size, bytes)
		}
		if fits := whole <= float64(bytes); fits != (float64(elements*size) == whole) && elements > 1 {
			t.Fatalf("shape %v in chunks of %v", shape, chunk)
		}
		// The longest axis is cut last and gets all that is left. With one chunk fewer it
		// would not fit.
		n := max(1, shape[longest])
		if cuts := (n + chunk[longest] - 1) / chunk[longest]; cuts > 1 {
			longer := (n + cuts - 2) / (cuts - 1)
			if elements/chunk[longest]*longer*size <= bytes {
				t.Fatalf("chunk %v of shape %v: %d fits along axis %d", chunk, shape, longer, longest)
			}
		}
	})
}

// TestAuto compares with the results of zarr-python 3.4.1 for the same shapes.
func TestAuto(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		size  int64
		want  []int64
	}{
		{[]int64{}, 8, []int64{}},
		{[]int64{0}, 4, []int64{1}},
		{[]int64{0, 36, 72}, 4, []int64{1, 36, 72}},
		{[]int64{10}, 4, []int64{10}},
		{[]int64{100}, 4, []int64{100}},
		{[]int64{1000}, 8, []int64{1000}},
		{[]int64{1_000_000}, 8, []int64{62500}},
		{[]int64{1_000_000_000}, 8, []int64{488282}},
		{[]int64{100, 100, 100}, 4, []int64{50, 50, 50}},
		{[]int64{1000, 1000, 1000}, 4, []int64{63, 125, 125}},
		{[]int64{10_000, 10_000}, 8, []int64{313, 625}},
		{[]int64{1_000_000, 10}, 8, []int64{62500, 2}},
		{[]int64{3, 10_000_000}, 1, []int64{1, 625000}},
		{[]int64{1000, 1000, 1000, 1000}, 2, []int64{32, 63, 63, 63}},
		{[]int64{1}, 1_000_000_000, []int64{1}},
	} {
		if got := grid.Auto(tt.shape, tt.size); !slices.Equal(got, tt.want) {
			t.Errorf("shape %v of %d bytes: %v, want %v", tt.shape, tt.size, got, tt.want)
		}
	}
}

func TestParseCuts(t *testing.T) {
	shape := []int64{60, 100}
	for _, tt := range []struct {
		text, want string // "" is an error
		axis       int
	}{
		{"10", `{"chunk_shape": [10, 10]}`, 0},
		{"-1", `{"chunk_shape": [60, 100]}`, 0},
		{"[10, 20]", `{"chunk_shape": [10, 20]}`, 0},
		{"[10, -1]", `{"chunk_shape": [10, 100]}`, 0},
		{"[[10,20,30],25]", `{"kind": "inline", "chunk_shapes": [[10, 20, 30], 25]}`, 0},
		{"[[[25,2],10],[50,50]]", `{"kind": "inline", "chunk_shapes": [[[25, 2], 10], [[50, 2]]]}`, 0},
		{"[[70],25]", `{"kind": "inline", "chunk_shapes": [[70], 25]}`, 0},
		{"", "", -1},
		{"ten", "", -1},
		{"0", "", 0},
		{"-2", "", 0},
		{"true", "", 0},
		{`"10"`, "", 0},
		{"[10]", "", -1},
		{"[10,10,10]", "", 2},
		{"[[],25]", "", 0},
		{"[10,[0]]", "", 1},
		{"[[[10,2,3]],25]", "", 0},
		{"[[10.5,50],25]", "", 0},
		{"[[10,20],25]", "", 0},
	} {
		t.Run(tt.text, func(t *testing.T) {
			cuts, err := grid.ParseCuts(shape, tt.text)
			var g *grid.Grid
			if err == nil {
				g, err = grid.New(shape, cuts...)
			}
			if tt.want != "" {
				if err != nil || string(g.AppendConfiguration(nil)) != tt.want {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				return
			}
			var on *grid.AxisError
			if !errors.Is(err, grid.ErrInvalid) || errors.As(err, &on) != (tt.axis >= 0) || on != nil && on.Axis != tt.axis {
				t.Errorf("%v does not name axis %d", err, tt.axis)
			}
		})
	}
}
