// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

// hostileNames are names of nodes that files of other programs may have.
var hostileNames = []string{
	"good", "a:b", "ta\tb", `back\slash`, `two\\slashes`, `..\up`, `c:\x`, `c:/x`, "C:", `\a`, `a\`, "line\nbreak", "\x1b[31m", "...", ".", "..", "..a", "",
	"\xff", "a\xc3", "é", "zarr.json", ".zarray", "__varve", "__varve.lock", "__tmp-1", "__x", "c", "0", "a\x00b", "blocks", "manifest.json", "?", "%2F",
}

// found is a data set with an array and a group of each name, and an array below that.
func found(names []string) *scan.Dataset {
	d := &scan.Dataset{Groups: []scan.Group{{Path: ""}}}
	array := func(path string) {
		d.Arrays = append(d.Arrays, &scan.Array{
			Path: path, Shape: []int64{1}, Chunk: []int64{1}, Type: dtype.Int8,
			Codecs: []metadata.Extension{scan.Plain(dtype.Int8, false)}, Chunks: []scan.Chunk{{Data: []byte{7}}},
		})
	}
	for i, name := range names {
		array("arrays/" + name)
		if i == 0 {
			d.Groups = append(d.Groups, scan.Group{Path: "arrays"}, scan.Group{Path: "groups"})
		}
		d.Groups = append(d.Groups, scan.Group{Path: "groups/" + name})
		array("groups/" + name + "/v")
	}
	return d
}

// TestNamesOfFiles makes manifests of files with any names. Every node is in the
// manifest, which can be opened, or is left out by name.
func TestNamesOfFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 1))
	for round := range 60 {
		name := hostileNames[round%len(hostileNames)]
		if round >= len(hostileNames) {
			b := make([]byte, 1+r.IntN(8))
			for i := range b {
				b[i] = `a.\:/`[r.IntN(5)]
				if r.IntN(4) == 0 {
					b[i] = byte(r.IntN(256))
				}
			}
			name = string(b)
		}
		names := slices.Compact([]string{"fine", name})
		d := found(names)
		m, refused, err := virtual.New(virtual.Source{Location: "a.nc", Size: 1}, d)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		var left []string
		for _, x := range refused {
			if !x.Array || !strings.Contains(x.Path, name) {
				t.Errorf("%q: %q is left out: %v", name, x.Path, x.Err)
			}
			left = append(left, x.Path)
		}
		want := []string{}
		for _, a := range d.Arrays {
			if !slices.Contains(left, a.Path) {
				want = append(want, a.Path)
			}
		}
		got, err := reopened(t, m)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) || !slices.Contains(got, "arrays/fine") {
			t.Errorf("%q: arrays %q, want %q (%v)", name, got, want, err)
		}
	}
}

// folder returns the path of a manifest.
func folder(t *testing.T) store.Path {
	t.Helper()
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// reopened stores a manifest, opens it, and returns the paths of its arrays.
func reopened(t *testing.T, m *virtual.Manifest) (paths []string, err error) {
	t.Helper()
	s := memstore.New()
	if err := m.Create(t.Context(), s, folder(t)); err != nil {
		return nil, err
	}
	again, err := virtual.Open(t.Context(), s, folder(t))
	if err != nil {
		return nil, err
	}
	for _, a := range again.Arrays {
		paths = append(paths, a.Path)
	}
	return paths, nil
}

// TestManifestWithBadName stores nothing that could not be opened, whoever has made it.
func TestManifestWithBadName(t *testing.T) {
	for _, path := range []string{"...", `a/..\b`, "\xff", "a//b"} {
		m := &virtual.Manifest{Groups: []virtual.Group{{Path: "", Document: new(metadata.Group)}, {Path: path, Document: new(metadata.Group)}}}
		if err := m.Create(t.Context(), memstore.New(), folder(t)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("group %q", path)) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestNamesOfHDF5 scans a file of HDF5 whose names a new node could not have. A manifest
// has those that it can have.
func TestNamesOfHDF5(t *testing.T) {
	b, err := os.ReadFile("testdata/h5_earliest.h5")
	if err != nil {
		t.Fatal(err)
	}
	for old, name := range map[string]string{"fletcher": "fletc\ter", "compact": `com\act`, "types": "t\tpes", "shrunk": "......", "grown": `a\\bc`} {
		if b = bytes.ReplaceAll(b, []byte("\x00"+old+"\x00"), []byte("\x00"+name+"\x00")); !bytes.Contains(b, []byte(name)) {
			t.Fatalf("there is no %q", old)
		}
	}
	s := memstore.New()
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("a.h5"), b), store.Flush); err != nil {
		t.Fatal(err)
	}
	p, err := virtual.OpenPart(t.Context(), s, store.MustKey("a.h5"), "a.h5", "memory")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, path := range []string{"fletc\ter", `com\act`, "t\tpes/i2"} {
		if _, err := p.Values(t.Context(), path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"......", `a\\bc`} {
		i := slices.IndexFunc(p.Refused, func(r virtual.Refusal) bool { return r.Path == path })
		if i < 0 || !p.Refused[i].Array {
			t.Errorf("%q is not left out: %v", path, p.Refused)
		}
	}
}
