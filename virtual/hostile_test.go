// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

const arrayDocument = `{"zarr_format": 3, "node_type": "array", "shape": [SHAPE], "data_type": "uint8",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
 "fill_value": 0, "codecs": [{"name": "bytes"}]}`

var (
	uint8Type  = dtype.Uint8
	plainBytes = []metadata.Extension{scan.Plain(uint8Type, false)}
)

// made stores the document of a manifest with one array, and a value with a block of two
// references and one of a source.
func made(t testing.TB, shape, references, sources string) (memtest.Store, store.Path) {
	t.Helper()
	refs := makeReferences(2)
	refs.set(0, reference{1, 0, 2})
	refs.set(1, reference{1, 2, 2})
	blocks := appendBlock(nil, refs)
	n := len(blocks)
	blocks = appendSources(blocks, []Source{{Location: "../f"}})
	words := strings.NewReplacer("REFS", `"key": "k", "offset": 0, "length": `+jsonNumber(n), "SOURCES", `"key": "k", "offset": `+jsonNumber(n)+`, "length": `+jsonNumber(len(blocks)-n))
	document, err := json.Marshal(strings.Replace(arrayDocument, "SHAPE", shape, 1))
	if err != nil {
		t.Fatal(err)
	}
	text := `{"varve_manifest": 1, "nodes": [{"path": "a", "document": ` + string(document) + `, "references": [` + words.Replace(references) + `]}], "sources": [` + words.Replace(sources) + `]}`
	s := memtest.New()
	for key, value := range map[string][]byte{"m.vz/manifest.json": []byte(text), "m.vz/k": blocks, "f": {1, 2, 3, 4}} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(key), value), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func jsonNumber(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// readMade reads the array of a manifest.
func readMade(t testing.TB, s memtest.Store, path store.Path) ([]uint8, error) {
	m, err := Open(t.Context(), s, path)
	if err != nil {
		return nil, err
	}
	from, err := newSites(t.Context(), s, store.Path{}, "/", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(newStore(m, from), "a").OpenArray(t.Context(), nil)
	if err != nil {
		return nil, err
	}
	b, err := zarr.Read[uint8](t.Context(), a, nil)
	return b.Data, err
}

// TestHostileManifests reads manifests with blocks that are missing, overlap, or are used
// for something else.
func TestHostileManifests(t *testing.T) {
	const refs, sources = `{"first": 0, "count": 2, REFS}`, `{"first": 0, "count": 1, SOURCES}`
	for name, c := range map[string]struct{ shape, references, sources string }{
		"sound":                       {"4", refs, sources},
		"fewer references":            {"6", refs, sources},
		"more references":             {"2", refs, sources},
		"none":                        {"4", "", sources},
		"a huge array":                {"1152921504606846976", "", sources},
		"no sources":                  {"4", refs, ""},
		"sources for references":      {"2", `{"first": 0, "count": 1, SOURCES}`, sources},
		"references for sources":      {"4", refs, `{"first": 0, "count": 2, REFS}`},
		"a gap":                       {"4", `{"first": 1, "count": 2, REFS}`, sources},
		"a wrong count":               {"6", `{"first": 0, "count": 3, REFS}`, sources},
		"a negative count":            {"4", `{"first": 0, "count": -2, REFS}`, sources},
		"a huge count":                {"4", `{"first": 0, "count": 1000000000000, REFS}`, sources},
		"a negative offset":           {"4", `{"first": 0, "count": 2, "key": "k", "offset": -1, "length": 10}`, sources},
		"a huge block":                {"4", `{"first": 0, "count": 2, "key": "k", "offset": 0, "length": 1000000000000}`, sources},
		"beyond the end":              {"4", `{"first": 0, "count": 2, "key": "k", "offset": 5, "length": 1000}`, sources},
		"a key elsewhere":             {"4", `{"first": 0, "count": 2, "key": "../k", "offset": 0, "length": 10}`, sources},
		"a value that is not there":   {"4", `{"first": 0, "count": 2, "key": "n", "offset": 0, "length": 10}`, sources},
		"another version of the form": {"4", refs, sources + `], "varve_manifest": 2, "x": [`},
	} {
		s, path := made(t, c.shape, c.references, c.sources)
		data, err := readMade(t, s, path)
		if name == "sound" {
			if err != nil || string(data) != "\x01\x02\x03\x04" {
				t.Errorf("%s: %v (%v)", name, data, err)
			}
		} else if err == nil {
			t.Errorf("%s: read as %v", name, data)
		}
	}
}

// TestAbsentChunks has a file that declares a billion chunks, and stores none.
func TestAbsentChunks(t *testing.T) {
	found := &scan.Dataset{Groups: []scan.Group{{}}, Arrays: []*scan.Array{{Path: "v", Shape: []int64{1 << 30}, Chunk: []int64{1}, Type: uint8Type, Codecs: plainBytes}}}
	m, refused, err := New(Source{Location: "f", Size: 10}, found)
	if err != nil || len(m.Arrays) != 0 || len(refused) != 1 || !errors.Is(refused[0].Err, ErrLimit) {
		t.Errorf("%v, refused %v", err, refused)
	}
}

// TestHostileMemory joins manifests whose blocks are one and the same: a few bytes that
// stand for millions of references, to nothing or to one file.
func TestHostileMemory(t *testing.T) {
	racing.Skip(t) // it measures memory
	for name, c := range map[string]struct {
		blocks int64
		ref    reference
		memory int64
		want   error
	}{
		"to nothing":      {17, reference{}, 0, ErrLimit},
		"to a file":       {17, reference{1, 0, 1}, 0, nil},
		"too many":        {17, reference{1, 0, 1}, 17 * mostReferences * referenceBytes, ErrLimit}, // its source, too
		"beyond all":      {mostReferred/mostReferences + 1, reference{1, 0, 1}, 0, ErrLimit},
		"a billion":       {mostChunks / mostReferences, reference{1, 0, 1}, 0, ErrLimit},
		"a billion holes": {mostChunks / mostReferences, reference{}, 0, ErrLimit},
	} {
		dir := t.TempDir()
		writeRepeated(t, filepath.Join(dir, "hostile.vz"), c.blocks, c.ref)
		collector, err := NewCollector(filepath.Join(dir, "made.vz"))
		if err != nil {
			t.Fatal(err)
		}
		collector.Memory = c.memory
		j, err := NewJoined(Join{})
		if err != nil {
			t.Fatal(err)
		}
		if err := collector.Collect(t.Context(), j, []string{filepath.Join(dir, "hostile.vz")}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err := collector.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writeRepeated writes a manifest with one block of equal references, which is used many
// times.
func writeRepeated(t *testing.T, folder string, blocks int64, ref reference) {
	t.Helper()
	refs := makeReferences(mostReferences)
	for i := range refs.len() {
		refs.set(i, ref)
	}
	block := appendBlock(nil, refs)
	n := int64(len(block))
	block = appendSources(block, []Source{{Location: "../f", Size: 1}})
	text := strings.Replace(strings.Replace(arrayDocument, "SHAPE", strconv.FormatInt(blocks*mostReferences, 10), 1), "[2]", "[1]", 1)
	d := document{Version: version, Nodes: []nodeDocument{{Path: "", Document: text}}, Sources: []piece{{0, 1, "k", n, int64(len(block)) - n}}}
	for i := range blocks {
		d.Nodes[0].Blocks = append(d.Nodes[0].Blocks, piece{i * mostReferences, mostReferences, "k", 0, n})
	}
	data, err := json.Marshal(d)
	if err == nil {
		err = os.Mkdir(folder, 0o777)
	}
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(folder, own.ManifestDocument), data, 0o666), os.WriteFile(filepath.Join(folder, "k"), block, 0o666))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzManifest opens drawn documents, and reads what they describe.
func FuzzManifest(f *testing.F) {
	f.Add("4", `{"first": 0, "count": 2, REFS}`, `{"first": 0, "count": 1, SOURCES}`)
	f.Add("6", `{"first": 0, "count": 2, REFS}`, `{"first": 0, "count": 2, REFS}`)
	f.Fuzz(func(t *testing.T, shape, references, sources string) {
		if len(shape) > 4 { // reading a large array is slow
			return
		}
		s, path := made(t, shape, references, sources)
		_, _ = readMade(t, s, path)
	})
}
