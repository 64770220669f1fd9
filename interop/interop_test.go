// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"
)

// implementation is one of the two programs that share a directory.
type implementation interface {
	name() string
	create(t *testing.T, path string, s spec)
	write(t *testing.T, path string, data []byte)
	append(t *testing.T, path string, axis int, b block)
	resize(t *testing.T, path string, shape []int64)
	read(t *testing.T, path string) state
	createGroup(t *testing.T, path string, attributes map[string]any)
	members(t *testing.T, path string) tree
}

// state is an array as a reader sees it.
type state struct {
	Shape      []int64
	Type       string
	Grid       string    // name and declared edges
	Sizes      [][]int64 // logical lengths of the chunks along every axis
	Inner      [][]int64 // those of inner chunks, if there are any
	Fill       []byte    `json:"-"`
	Names      []*string
	Attributes map[string]any
	Data       []byte `json:"-"`
	around     bool   // codecs surround the shards, so zarr-python does not report inner chunks
}

// tree is the nodes below a group, "group" or "array" by path.
type tree struct {
	Attributes map[string]any
	Members    map[string]string
}

// TestArrays lets each implementation write random arrays that both read.
func TestArrays(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for _, writer := range []implementation{p, varve{}} {
		for i := range cases() {
			t.Run(fmt.Sprintf("%s/%d", writer.name(), i), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				s := randomSpec(r)
				path := filepath.Join(t.TempDir(), "a.zarr")
				writer.create(t, path, s)
				respell(t, r, path, &s)
				want := randomBlock(r, s, s.Shape)
				writer.write(t, path, want.data)
				for _, reader := range []implementation{p, varve{}} {
					compare(t, reader, reader.read(t, path), s.state(want))
				}
			})
		}
	}
}

// TestListAxes writes axes with one edge as lists, because another axis is a list.
func TestListAxes(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for i := range cases() / 5 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<48))
			s := randomSpec(r)
			s.ListAxes = true
			path := filepath.Join(t.TempDir(), "a.zarr")
			varve{}.create(t, path, s)
			if s.listed() {
				for i, c := range s.Chunks {
					s.Chunks[i] = c.unlocked(s.Shape[i])
				}
			}
			data := randomBlock(r, s, s.Shape)
			pick[implementation](r, p, varve{}).write(t, path, data.data)
			for _, reader := range []implementation{p, varve{}} {
				compare(t, reader, reader.read(t, path), s.state(data))
			}
		})
	}
}

// TestGroups lets each implementation write a hierarchy that both read.
func TestGroups(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for _, writer := range []implementation{p, varve{}} {
		t.Run(writer.name(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			path := filepath.Join(t.TempDir(), "g.zarr")
			want := tree{randomAttributes(r), map[string]string{"a": "array", "b": "group", "b/c": "array", "b/d": "group"}}
			writer.createGroup(t, path, want.Attributes)
			writer.createGroup(t, filepath.Join(path, "b"), randomAttributes(r))
			writer.createGroup(t, filepath.Join(path, "b", "d"), map[string]any{})
			writer.create(t, filepath.Join(path, "a"), randomSpec(r))
			writer.create(t, filepath.Join(path, "b", "c"), randomSpec(r))
			for _, reader := range []implementation{p, varve{}} {
				if got := reader.members(t, path); !reflect.DeepEqual(got, want) {
					t.Errorf("%s finds %v, not %v", reader.name(), got, want)
				}
			}
		})
	}
}

// state returns the expected state.
func (s spec) state(b block) state {
	want := state{
		Shape: b.shape, Type: s.Type, Grid: s.grid(), Sizes: make([][]int64, len(b.shape)), Inner: s.inner(b.shape), Fill: s.Fill,
		Names: s.Names, Attributes: s.Attributes, Data: b.data, around: len(s.Filters) > 0,
	}
	for i, c := range s.Chunks {
		want.Sizes[i] = c.sizes(b.shape[i])
	}
	return want
}

// sizes returns the logical lengths of the chunks along an axis.
func (c cut) sizes(extent int64) []int64 {
	sizes := []int64{}
	for start, k := int64(0), 0; start < extent; k++ {
		edge := c.step
		if c.edges != nil {
			edge = c.edges[k]
		}
		sizes = append(sizes, min(edge, extent-start))
		start += edge
	}
	return sizes
}

// compare reports every difference between two states.
func compare(t *testing.T, reader implementation, got, want state) {
	t.Helper()
	if _, is := reader.(*python); is && got.Inner == nil && want.around {
		want.Inner = nil
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"shape", got.Shape, want.Shape}, {"data type", got.Type, want.Type},
		{"chunk grid", got.Grid, want.Grid}, {"chunk sizes", got.Sizes, want.Sizes}, {"inner chunk sizes", got.Inner, want.Inner},
		{"fill value", got.Fill, want.Fill}, {"attributes", got.Attributes, want.Attributes},
		{"dimension names", plain(got.Names), plain(want.Names)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s finds %s %v, not %v", reader.name(), c.what, c.got, c.want)
		}
	}
	if !bytes.Equal(got.Data, want.Data) {
		t.Errorf("%s reads elements that differ from those written to %v %v", reader.name(), want.Type, want.Shape)
	}
}

// cases returns the number of random arrays that each implementation writes.
func cases() int {
	if os.Getenv("CI") == "true" || os.Getenv("VARVE_LONG") != "" {
		return 250
	}
	return 60
}

// seed returns the seed of a test and prints it. In CI it is constant, so that a result
// depends on the change only; elsewhere every run has another one.
func seed(t *testing.T) uint64 {
	seed := uint64(time.Now().UnixNano())
	if os.Getenv("CI") == "true" {
		seed = 20261120
	}
	if text := os.Getenv("VARVE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		check(t, err)
	}
	t.Logf("VARVE_SEED=%d repeats this", seed)
	return seed
}

// decode reads JSON and keeps the spelling of numbers.
func decode(t *testing.T, raw []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	check(t, d.Decode(v))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
