// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

// zmetadata returns a document of consolidated metadata for pairs of a key and a
// document.
func zmetadata(pairs ...string) []byte {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
	}
	return []byte(`{"metadata":{` + strings.Join(list, ",") + `},"zarr_consolidated_format":1}`)
}

const zgroup = `{"zarr_format":2}`

// TestConsolidatedV2 reads consolidated metadata of format 2 with a damaged and an
// unknown array, changes it, and writes it.
func TestConsolidatedV2(t *testing.T) {
	good := string(zarray(t, nil))
	unknown := string(zarray(t, map[string]string{"dtype": `"|O"`, "filters": `[{"id":"pickle"}]`}))
	document := zmetadata(
		"b/.zattrs", `{"x":NaN}`, ".zattrs", `{"v":2}`, ".zgroup", zgroup, "b/.zgroup", zgroup, "a/.zarray", good, "b/c/.zarray", `{"zarr_format":2}`,
		"b/d/.zarray", unknown, "note", `[1]`, "lost/.zattrs", `{}`,
	)
	c, err := metadata.ParseConsolidatedV2(document, metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if paths := slices.Collect(maps.Keys(maps.Collect(c.Nodes()))); len(paths) != 4 || c.Len() != 4 {
		t.Errorf("entries at %q", paths)
	}
	if n, err := c.Entry("a", metadata.Limits{}); err != nil || n.Format() != 2 || n.Document() != ".zarray" {
		t.Error(n, err)
	}
	if n, err := c.Entry("b", metadata.Limits{}); err != nil || n.Document() != ".zgroup" {
		t.Error(n, err)
	}
	if n, err := c.Entry("b/c", metadata.Limits{}); n != nil || !errors.Is(err, metadata.ErrInvalid) || !strings.Contains(err.Error(), "/.zmetadata/metadata/b~1c/.zarray") {
		t.Error(n, err)
	}
	if n, err := c.Entry("b/d", metadata.Limits{}); n == nil || !errors.Is(err, metadata.ErrUnsupported) {
		t.Error(n, err)
	}
	b := c.Below("b")
	if b.Len() != 2 || !strings.Contains(string(b.Own()), ".zgroup") {
		t.Errorf("below b: %d entries, own %s", b.Len(), b.Own())
	}
	record, err := metadata.RecordV2(".zarray", []byte(good), []byte(`{"k":Infinity}`), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Without("b/c").With("b/e", record, metadata.Limits{}); err != nil {
		t.Fatal(err)
	}
	out, err := c.Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := zmetadata(
		".zattrs", `{"v":2}`, ".zgroup", zgroup, "b/.zattrs", `{"x":"NaN"}`, "b/.zgroup", zgroup, "a/.zarray", good, "b/d/.zarray", unknown,
		"b/e/.zarray", good, "b/e/.zattrs", `{"k":"Infinity"}`, "note", `[1]`, "lost/.zattrs", `{}`,
	)
	bare := strings.NewReplacer(`"x": NaN`, `"x": "NaN"`, `"k": Infinity`, `"k": "Infinity"`).Replace(string(out))
	if bare == string(out) || !reflect.DeepEqual(sameJSON(t, []byte(bare)), sameJSON(t, want)) {
		t.Errorf("%s\nwant\n%s", out, want)
	}
}

// TestConsolidatedV2OfPython checks that a group in consolidated metadata of zarr-python
// 3.4 equals the group of its own document.
func TestConsolidatedV2OfPython(t *testing.T) {
	const entry = `{"zarr_format":2,"consolidated_metadata":{"metadata":{},"must_understand":false,"kind":"inline"},"other":1}`
	c, err := metadata.ParseConsolidatedV2(zmetadata(".zgroup", zgroup, "b/.zattrs", `{}`, "b/.zgroup", entry), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := c.Entry("b", metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := metadata.ParseV2(".zgroup", []byte(`{"zarr_format":2,"other":1}`), nil, metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := metadata.Record(recorded, metadata.Limits{})
	want, wantErr := metadata.Record(stored, metadata.Limits{})
	if err != nil || wantErr != nil || string(got) != string(want) {
		t.Errorf("record %s (%v), want %s (%v)", got, err, want, wantErr)
	}
}

// TestConsolidatedV2Refused checks documents that are refused as a whole.
func TestConsolidatedV2Refused(t *testing.T) {
	for words, document := range map[string][]byte{
		"must be an object":        []byte("[]"),
		"zarr_consolidated_format": []byte(`{"metadata":{}}`),
		"layout 2":                 []byte(`{"metadata":{},"zarr_consolidated_format":2}`),
	} {
		c, err := metadata.ParseConsolidatedV2(document, metadata.Limits{})
		if c != nil || err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestConsolidatedV2Entries checks documents with a refused entry beside a sound one.
// Writing and reading keeps both.
func TestConsolidatedV2Entries(t *testing.T) {
	good := string(zarray(t, nil))
	for words, pairs := range map[string][]string{
		"periods only":               {"../x/.zarray", good},
		"slash too many":             {"/etc/.zarray", good},
		"must not be empty":          {"/.zarray", good},
		"backslash":                  {`..\x/.zarray`, good},
		"lies below an array":        {"sound/b/.zarray", good},
		"two entries with this path": {"a/.zarray", good, "a/.zattrs", "{}", "a/.zarray", good},
		"/.zmetadata/metadata/: ":    {".zgroup", zgroup, ".zgroup", zgroup},
		"/.zmetadata/metadata/a~1.":  {"a/./.zarray", good},
	} {
		document := zmetadata(append(pairs, "sound/.zarray", good)...)
		for range 2 {
			c, err := metadata.ParseConsolidatedV2(document, metadata.Limits{})
			if err != nil {
				t.Fatalf("%s: %v", words, err)
			}
			refused := slices.Collect(maps.Values(maps.Collect(c.Refused())))
			if len(refused) != 1 || !errors.Is(refused[0], metadata.ErrInvalid) || !strings.Contains(refused[0].Error(), words) {
				t.Errorf("%s: %v", words, refused)
			}
			if n, err := c.Entry("sound", metadata.Limits{}); n == nil || err != nil || c.Len() != 1 {
				t.Errorf("beside %s: %v, %d entries", words, err, c.Len())
			}
			if document, err = c.Marshal(metadata.Limits{}); err != nil {
				t.Fatalf("%s: %v", words, err)
			}
		}
	}
}

// FuzzConsolidatedV2 reads consolidated metadata of format 2, then writes and reads it
// again, and compares the entries.
func FuzzConsolidatedV2(f *testing.F) {
	f.Add(zmetadata("a/.zarray", string(zarray(f, nil)), "a/.zattrs", `{"x":NaN}`, ".zgroup", zgroup, "b/.zgroup", zgroup, "b/.zattrs", "{}"))
	f.Add(zmetadata("x/.zattrs", "{}", "y", "1", "x/y/.zgroup", "5"))
	f.Add(zmetadata("/.zarray", "1", "../x/.zgroup", zgroup, "a/.zgroup", "1", "a/.zgroup", "2", ".zgroup", "1", ".zgroup", "2", "b/.zattrs", "1", "b/.zattrs", "2", "n", "1", "n", "2"))
	f.Fuzz(func(t *testing.T, document []byte) {
		c, err := metadata.ParseConsolidatedV2(document, metadata.Limits{})
		if err != nil {
			return
		}
		out, err := c.Marshal(metadata.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		d, err := metadata.ParseConsolidatedV2(out, metadata.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !slices.Equal(slices.Collect(maps.Keys(maps.Collect(c.Nodes()))), nil) && c.Len() != d.Len() || string(c.Own()) == "" != (string(d.Own()) == "") {
			t.Fatalf("%s\nbecame\n%s", document, out)
		}
	})
}
