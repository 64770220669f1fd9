// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// copyInto joins files in a folder into made.vz there, with copies of padded chunks.
func copyInto(t *testing.T, dir string, how virtual.Join, allChunks *int64, files ...string) error {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath("made.vz")
	if err != nil {
		t.Fatal(err)
	}
	j, err := virtual.NewJoined(how)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(filepath.Join(dir, "made.vz"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Copied = func(done, total int64) {
		if *allChunks++; done != *allChunks || done > total {
			t.Errorf("%d chunks are copied, and %d of %d are reported", *allChunks, done, total)
		}
	}
	paths := make([]string, len(files))
	for i, name := range files {
		if paths[i] = name; !filepath.IsAbs(name) {
			paths[i] = filepath.Join(dir, name)
		}
	}
	if err := c.Collect(t.Context(), j, paths); err != nil {
		return err
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CopyPadded(t.Context(), m, s, path); err != nil {
		return err
	}
	return m.Create(t.Context(), s, path)
}

// TestCopyDatasets joins files of NetCDF-4 that end within chunks, with copies of these.
// Files that end with a chunk have none.
func TestCopyDatasets(t *testing.T) {
	for _, d := range datasets(t) {
		if d.Refused != nil || d.Mode != "concat" {
			continue
		}
		dir, chunks, how := copied(t, d.Files...), int64(0), d.how()
		how.CopyPadded = true
		if err := copyInto(t, dir, how, &chunks, d.Files...); err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if (chunks > 0) != d.padded() {
			t.Errorf("%s: %d chunks are copied", d.Name, chunks)
		}
		d.EncodedEdges = nil // so that check reads it as every program does
		d.check(t, dir+"/made.vz", d.Variable, d.Shape, d.SHA256)
	}
}

// TestCopiesOfAnother makes a manifest of another one in another folder, which has copied
// coordinates and chunks: they are read from there, if that folder is allowed.
func TestCopiesOfAnother(t *testing.T) {
	for _, d := range datasets(t) {
		if d.Name != "yearly_padded" {
			continue
		}
		from, to, chunks, how := copied(t, d.Files...), t.TempDir(), int64(0), d.how()
		how.CopyPadded = true
		if err := copyInto(t, from, how, &chunks, d.Files...); err != nil || chunks == 0 {
			t.Fatalf("%d chunks are copied (%v)", chunks, err)
		}
		stored(t, to, alone(t, filepath.Join(to, "made.vz"), filepath.Join(from, "made.vz")))
		for allow, want := range map[string]error{from: nil, t.TempDir(): virtual.ErrNotAllowed} {
			a, err := zarr.OpenArray(virtual.WithAllowed(t.Context(), allow), filepath.Join(to, "made.vz", d.Variable), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if hash, err := hashOf(t, a); !errors.Is(err, want) || err == nil && hash != d.SHA256 {
				t.Errorf("%s is allowed: %v, or other elements", allow, err)
			}
		}
		return
	}
	t.Error("there is no such data set")
}

// paddedNode makes an array whose last chunk along the time has padding.
func paddedNode[T dtype.Element](t *testing.T, path string, names []string, shape, chunk []int64, spec zarr.Spec, value func(i int) T) []T {
	t.Helper()
	spec.Shape, spec.DimensionNames, spec.Type = shape, names, dtype.Of[T]()
	for _, n := range chunk {
		spec.Chunks = append(spec.Chunks, grid.Every(n))
	}
	a, err := zarr.CreateArray(t.Context(), path, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, x := range shape {
		n *= x
	}
	values := make([]T, n)
	for i := range values {
		values[i] = value(i)
	}
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Fatal(err)
	}
	return values
}

// inShards returns the codec of shards with inner chunks of a length.
func inShards(t *testing.T, length int64) metadata.Extension {
	t.Helper()
	e, err := codec.Shards(codec.Sharding{Inner: grid.Chunks(length), Codecs: []metadata.Extension{codec.Bytes("little")}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCopySeveral joins groups with several variables: along the second axis, texts,
// shards, and one whose padded chunks have only the fill value, which is not stored. They
// are in a folder that references may not lead to.
func TestCopySeveral(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	inner := inShards(t, 2)
	var files []string
	want := map[string][]string{}
	for i, n := range []int64{28, 22, 26} {
		file := filepath.Join(from, fmt.Sprintf("%d.zarr", i))
		files = append(files, file)
		if _, err := zarr.CreateGroup(t.Context(), file, nil, nil); err != nil {
			t.Fatal(err)
		}
		wide := paddedNode(t, file+"/wide", []string{"x", "time"}, []int64{5, n}, []int64{2, 10}, zarr.Spec{}, func(k int) int32 { return int32(1000*i + k) })
		text := paddedNode(t, file+"/text", []string{"time"}, []int64{n}, []int64{10}, zarr.Spec{}, func(k int) string { return strings.Repeat("ä", k) })
		shards := paddedNode(t, file+"/shards", []string{"time"}, []int64{n}, []int64{10}, zarr.Spec{Codecs: []metadata.Extension{inner}}, func(k int) float64 { return float64(k) + 0.5 })
		holes := paddedNode(t, file+"/holes", []string{"time"}, []int64{n}, []int64{10}, zarr.Spec{}, func(k int) int16 { return int16(min(0, k-20)) })
		for k := range n {
			for x := range int64(5) {
				want["wide"] = append(want["wide"], fmt.Sprint(wide[x*n+k]))
			}
			want["text"] = append(want["text"], text[k])
			want["shards"] = append(want["shards"], fmt.Sprint(shards[k]))
			want["holes"] = append(want["holes"], fmt.Sprint(holes[k]))
		}
	}
	chunks := int64(0)
	if err := copyInto(t, dir, virtual.Join{Concat: "time", CopyPadded: true}, &chunks, files...); err != nil {
		t.Fatal(err)
	}
	if chunks != 2*(3+1+1) {
		t.Errorf("%d chunks are copied", chunks)
	}
	if err := os.RemoveAll(filepath.Join(dir, "made.vz/scan")); err != nil {
		t.Fatal(err)
	}
	ctx := virtual.WithAllowed(t.Context(), from)
	for name, want := range want {
		a, err := zarr.OpenArray(ctx, filepath.Join(dir, "made.vz", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		var got []string
		switch name {
		case "text":
			b, readErr := zarr.Read[string](ctx, a, nil)
			got, err = b.Data, readErr
		default:
			b, readErr := zarr.ReadAs[float64](ctx, a, nil)
			err = readErr
			for k := range b.Data {
				v := b.Data[k]
				if name == "wide" { // in the order of want
					v = b.Data[k%5*76+k/5]
				}
				got = append(got, fmt.Sprint(v))
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%v)", name, got, want, err)
		}
	}
}

// TestCopyRefused joins files whose last chunk cannot be encoded without its padding:
// shards that inner chunks do not divide, and codecs that only decode.
func TestCopyRefused(t *testing.T) {
	for name, codecs := range map[string][]metadata.Extension{
		"sharding_indexed": {inShards(t, 5)},
		"numcodecs.bz2":    {codec.Bytes("little"), {Name: "numcodecs.bz2", Configuration: []byte(`{"level":1}`)}},
	} {
		dir, chunks := t.TempDir(), int64(0)
		for i := range 2 {
			file := filepath.Join(dir, fmt.Sprintf("%d.zarr", i))
			if _, err := zarr.CreateGroup(t.Context(), file, nil, nil); err != nil {
				t.Fatal(err)
			}
			// Chunks with only the fill value are not stored: nothing is encoded here.
			paddedNode(t, file+"/v", []string{"time"}, []int64{28}, []int64{10}, zarr.Spec{Codecs: codecs}, func(k int) float32 { return 0 })
		}
		err := copyInto(t, dir, virtual.Join{Concat: "time", CopyPadded: true}, &chunks, "0.zarr", "1.zarr")
		if !errors.Is(err, virtual.ErrMismatch) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range []string{"0.zarr", "v", "0 (time)", name, "other chunks"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", name, err, part)
			}
		}
	}
}
