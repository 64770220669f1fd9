// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// treeNode is what a program finds of a node.
type treeNode struct {
	Attributes any
	Dimensions []string
	Shape      []int64
	SHA256     string // of the elements
}

// treeOf returns the nodes of the branch main by path.
func treeOf(t *testing.T, r *icechunk.Repository) map[string]treeNode {
	t.Helper()
	is, err := r.Snapshot(t.Context(), "")
	check(t, err)
	found := map[string]treeNode{}
	for e, err := range store.List(t.Context(), is, store.Path{}, store.Deep) {
		check(t, err)
		path, isDocument := strings.CutSuffix("/"+e.Name, "/zarr.json")
		if !isDocument {
			continue
		}
		path = strings.TrimPrefix(path, "/")
		n, err := zarr.At(is, path).Open(t.Context(), nil)
		check(t, err)
		node := treeNode{}
		decode(t, n.Attributes(), &node.Attributes)
		if a, ok := n.(*zarr.Array); ok {
			sum := sha256.Sum256(handed(t, a, nil))
			node.Shape, node.SHA256 = a.Shape(), hex.EncodeToString(sum[:])
			node.Dimensions = a.DimensionNames()
		}
		found[path] = node
	}
	return found
}

// compareTree compares what Varve finds with what the others do. xarray has the
// attributes and elements of arrays that zarr-python has.
func compareTree(t *testing.T, r *icechunk.Repository, dir string, arguments ...string) {
	t.Helper()
	c := exec.Command(interpreter(t), append([]string{"icechunk_tree.py", dir}, arguments...)...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatal(err, errs.String())
	}
	var theirs map[string]map[string]treeNode
	decode(t, out, &theirs)
	if r == nil {
		s, err := filestore.Open(dir, nil)
		check(t, err)
		r, err = icechunk.Open(t.Context(), s, store.Path{}, nil)
		check(t, err)
		defer r.Close()
	}
	ours := treeOf(t, r)
	for program, nodes := range theirs {
		for path, is := range nodes {
			got := ours[path]
			if object, ok := got.Attributes.(map[string]any); ok && program == "xarray" {
				object = maps.Clone(object)
				delete(object, "_FillValue") // it is decoded
				got.Attributes = object
			}
			if fmt.Sprint(got.Shape, got.Dimensions) != fmt.Sprint(is.Shape, is.Dimensions) || got.SHA256 != is.SHA256 || !reflect.DeepEqual(got.Attributes, is.Attributes) {
				t.Errorf("%q: Varve finds %+v, and %s %+v", path, got, program, is)
			}
		}
		t.Logf("%d nodes by %s", len(nodes), program)
		if len(nodes) != len(ours) || len(nodes) < 30 {
			t.Errorf("Varve finds %d nodes, and %s %d", len(ours), program, len(nodes))
		}
	}
}

// TestIcechunkTree writes a hierarchy of many nodes into a repository. xarray and
// zarr-python read it on the store of the reference, with the same attributes, dimensions
// and elements. Then xarray writes one, which Varve reads.
func TestIcechunkTree(t *testing.T) {
	dir := t.TempDir()
	startReference(t, fixtureRepository(t)) // or the test is skipped
	r := emptyRepository(t, dir)
	_, err := r.Change(t.Context(), "main", "a tree", func(ctx context.Context, s *icechunk.Session) error { return writeTree(t, s) })
	check(t, err)
	compareTree(t, r, dir)
	compareTree(t, nil, filepath.Join(t.TempDir(), "repo"), "write")
}

// fixtureRepository makes a repository to start the reference on.
func fixtureRepository(t *testing.T) string {
	dir := t.TempDir()
	emptyRepository(t, dir)
	return dir
}

// writeTree writes groups, and arrays of all types that zarr-python and xarray have, with
// grids, codecs and fill values of many kinds. Half of each array is stored.
func writeTree(t *testing.T, s *icechunk.Session) error {
	ctx, random := t.Context(), rand.New(rand.NewPCG(11, 13))
	attributes := map[string]any{
		"units": "K", "größe": 1.5, "nested": map[string]any{"a": []any{1.0, nil, true}}, "empty": "",
		"consolidated_metadata": map[string]any{"kind": "inline", "metadata": map[string]any{}}, "node_type": "array",
	}
	for _, path := range []string{"", "climate", "climate/daily", "climate/daily/deep", "nothing", "text", "types"} {
		if _, err := zarr.At(s, path).CreateGroup(ctx, attributes, nil); err != nil {
			return err
		}
	}
	specs := map[string]zarr.Spec{
		"climate/daily/months":      {Shape: []int64{59}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(31, 28)}},
		"climate/daily/deep/shards": {Shape: []int64{40, 30}, Type: dtype.Int16, Chunks: grid.Chunks(20, 15), InnerChunks: grid.Chunks(5, 5)},
		"climate/daily/deep/uneven": {Shape: []int64{30, 59}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Every(15), grid.Edges(31, 28)}},
		"climate/big":               {Shape: []int64{30}, Type: dtype.Float64, Codecs: []metadata.Extension{codec.Bytes("big"), codec.Gzip(5)}},
		"climate/turned":            {Shape: []int64{4, 5, 6}, Type: dtype.Int32, Codecs: []metadata.Extension{codec.Transpose(2, 0, 1), codec.Bytes("little"), codec.CRC32C()}},
		"climate/unknown":           {Shape: []int64{30}, Type: dtype.Float32, FillValue: zarr.FillJSON(`"NaN"`), Chunks: grid.Chunks(7)},
		"climate/infinite":          {Shape: []int64{30}, Type: dtype.Float64, FillValue: zarr.FillJSON(`"-Infinity"`)},
		"nothing_stored":            {Shape: []int64{3, 0}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)},
		"scalar":                    {Shape: []int64{}, Type: dtype.Float64},
		"text/word":                 {Shape: []int64{9}, Type: dtype.String, Chunks: grid.Chunks(4)},
	}
	for _, text := range []string{
		"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128",
		`{"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}`, `{"name": "numpy.timedelta64", "configuration": {"unit": "s", "scale_factor": 10}}`,
		`{"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}`, `{"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}}`,
		`{"name": "struct", "configuration": {"fields": [{"name": "n", "data_type": "int32"}, {"name": "x", "data_type": "float64"}]}}`,
	} {
		var e struct {
			Name          string
			Configuration json.RawMessage
		}
		if json.Unmarshal([]byte(text), &e) != nil {
			e.Name = text
		}
		typ, err := dtype.Parse(e.Name, e.Configuration)
		if err != nil {
			return err
		}
		name := e.Name[strings.LastIndexByte(e.Name, '.')+1:]
		specs["types/"+name] = zarr.Spec{Shape: []int64{12}, Type: typ, Chunks: grid.Chunks(5)}
	}
	for _, path := range slices.Sorted(maps.Keys(specs)) {
		spec := specs[path]
		spec.Attributes = attributes
		for _, length := range spec.Shape {
			spec.DimensionNames = append(spec.DimensionNames, fmt.Sprintf("%s_%d", path[strings.LastIndexByte(path, '/')+1:], length))
		}
		a, err := zarr.At(s, path).CreateArray(ctx, spec, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		half := selection.Box{}
		for i, length := range spec.Shape {
			if i == 0 {
				length -= length / 2
			}
			half = append(half, [2]int64{0, length})
		}
		if err := fillHalf(t, random, a, half); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// fillHalf writes random elements into a part of an array.
func fillHalf(t *testing.T, random *rand.Rand, a *zarr.Array, part selection.Box) error {
	n := int64(1)
	for _, is := range part {
		n *= is[1] - is[0]
	}
	if a.Type().Variable() {
		words := make([]string, n)
		for i := range words {
			words[i] = pick(random, "", "a", "größer", "日本")
		}
		return zarr.Write(t.Context(), a, part, words)
	}
	data := make([]byte, n*int64(a.Type().Size()))
	for i := range data {
		switch name := a.Type().Name(); {
		case name == "bool":
			data[i] = byte(random.IntN(2))
		case name == "fixed_length_utf32" && i%4 > 0: // a letter has four bytes
		case name == "fixed_length_utf32" || name == "null_terminated_bytes":
			data[i] = byte('a' + random.IntN(26))
		default:
			data[i] = byte(random.Uint32())
		}
	}
	return a.WriteBytes(t.Context(), part, data)
}
