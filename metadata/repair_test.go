// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"varve.dev/zarr/internal/nodename"
)

// withMembers returns the document of an array of format 3 with some members replaced.
func withMembers(members ...string) string {
	doc := arrayDoc("")
	for i := 0; i < len(members); i += 2 {
		doc = strings.Replace(doc, members[i], members[i+1], 1)
	}
	return doc
}

// TestRepairs reads deviations of real writers, with a note for each, and writes the
// specified form.
func TestRepairs(t *testing.T) {
	fillOf := func(typ string) string { return withMembers(`"int8"`, typ, `"fill_value":0`, `"fill_value":null`) }
	for name, c := range map[string]struct{ doc, note, written, gone string }{
		"null fill":         {fillOf(`"int16"`), "GDAL", `"fill_value":0,`, "null"},
		"null float":        {fillOf(`"float32"`), "GDAL", `"fill_value":0.0`, "null"},
		"null bool":         {fillOf(`"bool"`), "null", `"fill_value":false`, "null"},
		"null text":         {fillOf(`"string"`), "null", `"fill_value":""`, "null"},
		"null raw":          {fillOf(`"r16"`), "null", `"fill_value":[0,0]`, "null"},
		"null time":         {fillOf(`{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`), "NaT", `"fill_value":-9223372036854775808`, "null"},
		"bool 0":            {withMembers(`"int8"`, `"bool"`), "0 was read as false", `"fill_value":false`, `:0,`},
		"bool 1":            {withMembers(`"int8"`, `"bool"`, `"fill_value":0`, `"fill_value":1`), "1 as true", `"fill_value":true`, `:1,`},
		"no names":          {arrayDoc(`,"dimension_names":null`), "dimension_names", `"codecs"`, "null"},
		"no attributes":     {arrayDoc(`,"attributes":null`), "attributes", `"attributes":{}`, "null"},
		"no transformers":   {arrayDoc(`,"storage_transformers":null`), "storage_transformers", `"codecs"`, "null"},
		"group, attributes": {groupDoc(`,"attributes":null`), "attributes", `"attributes":{}`, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Parse([]byte(c.doc), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			notes := n.(interface{ Notes() []string }).Notes()
			if len(notes) != 1 || !strings.Contains(notes[0], c.note) {
				t.Errorf("notes %q", notes)
			}
			got := strings.Join(strings.Fields(mustMarshal(t, n)), "")
			if !strings.Contains(got, c.written) || strings.Contains(got, c.gone) {
				t.Errorf("written as %s", got)
			}
			again, err := Parse([]byte(got), Limits{})
			if err != nil || again.(interface{ Notes() []string }).Notes() != nil {
				t.Errorf("read again: %v", err)
			}
			if a, ok := n.(*Array); ok {
				if next := a.Resized([]int64{9}, a.ChunkGrid); next.Notes() != nil {
					t.Errorf("what is to be written has notes %q", next.Notes())
				}
			}
		})
	}
	if n := mustArray(t, arrayDoc(`,"storage_transformers":[]`)); n.Notes() != nil || !strings.Contains(mustMarshal(t, n), "storage_transformers") {
		t.Error("no storage transformers are none")
	}
	mustArray(t, withMembers(`"chunk_key_encoding":"default"`, `"chunk_key_encoding":{"name":"default"}`))
}

// TestNoRepair checks that forms that are ambiguous, or that no known writer produces,
// are refused.
func TestNoRepair(t *testing.T) {
	for _, doc := range []string{
		withMembers(`["bytes"]`, `[]`), withMembers(`["bytes"]`, `null`), withMembers(`[8]`, `null`), withMembers(`"int8"`, `null`),
		withMembers(`"configuration":{"chunk_shape":[4]}`, `"configuration":null`), withMembers(`"default"`, `null`),
		withMembers(`"fill_value":0,`, ``), arrayDoc(`,"dimension_names":"x"`), arrayDoc(`,"attributes":[]`), arrayDoc(`,"storage_transformers":{}`),
	} {
		if _, err := Parse([]byte(doc), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for _, fill := range []string{"2", "-1", "0.5", `"0"`} { // package dtype refuses these
		a := mustArray(t, withMembers(`"int8"`, `"bool"`, `"fill_value":0`, `"fill_value":`+fill))
		if string(a.FillValue) != fill || a.Notes() != nil {
			t.Errorf("%s is read as %s: %q", fill, a.FillValue, a.Notes())
		}
	}
}

// documentV2 returns the document of an array of format 2 with some members replaced.
func documentV2(changes map[string]string) []byte {
	members := map[string]string{
		"zarr_format": "2", "shape": "[8]", "chunks": "[4]", "dtype": `"<i4"`, "compressor": "null", "fill_value": "0", "order": `"C"`, "filters": "null",
	}
	maps.Copy(members, changes)
	doc := "{"
	for name, value := range members {
		doc += fmt.Sprintf("%q:%s,", name, value)
	}
	return []byte(strings.TrimSuffix(doc, ",") + "}")
}

// TestRepairsV2 is TestRepairs for format 2.
func TestRepairsV2(t *testing.T) {
	for name, c := range map[string]struct {
		members             map[string]string
		note, written, gone string
	}{
		"NO":        {map[string]string{"compressor": `{"id":"zstd","level":13,"checksum":"NO"}`}, "GDAL", `"compressor":{"id":"zstd","level":13},`, "checksum"},
		"yes":       {map[string]string{"compressor": `{"id":"zstd","level":13,"checksum":"yes"}`}, "GDAL", `"compressor":{"id":"zstd","level":13,"checksum":true},`, "yes"},
		"false":     {map[string]string{"compressor": `{"checksum": false, "id":"zstd","level":13}`}, "", `"compressor":{"id":"zstd","level":13},`, "checksum"},
		"true":      {map[string]string{"compressor": `{"checksum": true, "id":"zstd","level":13}`}, "", `"compressor":{"checksum":true,"id":"zstd","level":13},`, "false"},
		"filter":    {map[string]string{"filters": `[{"id":"zlib","level":1},{"id":"zstd","checksum":"NO"},{"id":"zstd","checksum":"NO"}]`}, "GDAL", `"filters":[{"id":"zlib","level":1},{"id":"zstd"},{"id":"zstd"}]`, "NO"},
		"shuffle 0": {map[string]string{"filters": `[{"id":"crc32"},{"id":"shuffle","elementsize":0}]`}, "wrong values", `"filters":[{"id":"crc32"},{"id":"shuffle","elementsize":4}]`, ":0}"},
		"shuffle 4": {map[string]string{"filters": `[{"id":"shuffle","elementsize":"4"}]`}, "a text", `"filters":[{"id":"shuffle","elementsize":4}]`, `"4"`},
		"shuffle 1": {map[string]string{"dtype": `"|i1"`, "filters": `[{"id":"shuffle","elementsize":0}]`}, "", `"filters":[{"id":"shuffle","elementsize":0}]`, "1}"},
		"no size":   {map[string]string{"dtype": `"<i2"`, "filters": `[{"id":"shuffle"}]`}, "", `"filters":[{"id":"shuffle"}]`, "size"},
		"separator": {map[string]string{"dimension_separator": "null"}, "dimension_separator", `"chunks"`, "separator"},
		"chunk 0":   {map[string]string{"shape": "[0,3]", "chunks": "[0,2]"}, "chunk length 0", `"chunks":[1,2]`, "[0,2]"},
		"chunks 0":  {map[string]string{"shape": "[0,0]", "chunks": "[0,0]"}, "chunk length 0", `"chunks":[1,1]`, `"chunks":[0`},
		"bool 1":    {map[string]string{"dtype": `"|b1"`, "fill_value": "1"}, "1 as true", `"fill_value":true`, ":1"},
		"bool 0":    {map[string]string{"dtype": `"|b1"`, "fill_value": "0"}, "0 was read as false", `"fill_value":false`, ":0"},
	} {
		a, err := ParseArrayV2(documentV2(c.members), nil, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if notes := a.Notes(); (c.note == "") != (len(notes) == 0) || c.note != "" && (len(notes) != 1 || !strings.Contains(notes[0], c.note)) {
			t.Errorf("%s: notes %q", name, notes)
		}
		if got := strings.Join(strings.Fields(mustMarshal(t, a)), ""); !strings.Contains(got, c.written) || strings.Contains(got, c.gone) {
			t.Errorf("%s: written as %s", name, got)
		}
	}
	if n, err := ParseV2(nodename.V2Group, []byte(`{"zarr_format":2}`), []byte("null"), Limits{}); err != nil || len(n.(*Group).Notes()) != 1 {
		t.Error(err)
	}
	for _, bad := range []string{`{"id":"zstd","checksum":"maybe"}`, `{"id":"zstd","checksum":1}`, `{"id":"zstd","checksum":"0"}`} {
		a, err := ParseArrayV2(documentV2(map[string]string{"compressor": bad}), nil, Limits{})
		if err != nil || a.Notes() != nil {
			t.Errorf("%s: %v, %q", bad, err, a.Notes())
		}
	}
}

// TestFalseChecksum checks that conversion to format 2 omits a checksum of false, a
// member that TensorStore does not know.
func TestFalseChecksum(t *testing.T) {
	for checksum, want := range map[string]string{"false": `{"id":"zstd","level":3}`, "true": `{"id":"zstd","level":3,"checksum":true}`} {
		doc := withMembers(`["bytes"]`, `["bytes",{"name":"zstd","configuration":{"level":3,"checksum":`+checksum+`}}]`, `"default"`, `"v2"`)
		a, err := mustArray(t, doc).ToV2(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(mustMarshal(t, a)), ""); !strings.Contains(got, `"compressor":`+want) {
			t.Errorf("%s: %s", checksum, got)
		}
	}
}

// TestRepairTable checks that every repair has a source and a note.
func TestRepairTable(t *testing.T) {
	for i, r := range repairs {
		if r.source == "" || r.note == "" || repair(i).String() != r.note {
			t.Errorf("repair %d has source %q and note %q", i, r.source, r.note)
		}
	}
}
