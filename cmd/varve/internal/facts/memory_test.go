// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

// TestAttributesTakeNoMemory prints the beginning of long attributes without copying
// them.
func TestAttributesTakeNoMemory(t *testing.T) {
	var object bytes.Buffer
	object.WriteString(`{"long": "` + strings.Repeat("é", 1<<20) + `", "list": [1,` + strings.Repeat("\n  2,", 1<<19) + ` 3]`)
	for i := range 100_000 {
		fmt.Fprintf(&object, `,"%d":%d`, i, i)
	}
	object.WriteString("}")
	if !json.Valid(object.Bytes()) {
		t.Fatal("the test is wrong")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var s Sheet
	s.Attributes(object.Bytes())
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for attributes of %d", n, object.Len())
	}
	var out bytes.Buffer
	if err := s.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"long: \"éé", "list: [1, 2, 2", "…", "more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%.400s lacks %q", out.String(), want)
		}
	}
}

// TestReadersTakeNoMemory finds out which programs read an array, and its missing values,
// without parsing very many attributes again for each program and each name.
func TestReadersTakeNoMemory(t *testing.T) {
	var attributes bytes.Buffer
	attributes.WriteString(`{"_FillValue": 3`)
	for i := range 50_000 {
		fmt.Fprintf(&attributes, `,"%d":%d`, i, i)
	}
	attributes.WriteString("}")
	doc, err := metadata.ParseArray(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int8",`+
		`"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,`+
		`"codecs":[{"name":"bytes"}],"attributes":%s}`, attributes.Bytes()), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readersOfDocument(doc, specified)
	text := Describe("a", doc).missingText()
	runtime.ReadMemStats(&after)
	if text != "3" {
		t.Errorf("the missing value is %q", text)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<18 {
		t.Errorf("%d bytes for attributes of %d", n, attributes.Len())
	}
}

// TestLongTextsAreCut checks that only the beginning of names and texts of a megabyte is
// printed.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("z", 1<<20)
	s := Sheet{Title: "x"}
	s.Add(long, long)
	s.Attributes([]byte(`{"` + long + `": 1}`))
	s.Add("codecs", extensionsText([]metadata.Extension{{Name: "x", Configuration: []byte(`{"` + long + `":"` + long + `"}`)}}))
	f := Array{Doc: &metadata.Array{DataType: metadata.Extension{Name: "x", Configuration: []byte("{}")}}, DataType: []byte(`{"name":"` + long + `"}`)}
	s.Add("data type", f.typeText())
	var out bytes.Buffer
	if err := s.Print(&out); err != nil || out.Len() > 20<<10 || strings.Count(out.String(), "…") < 5 {
		t.Errorf("%v, %d bytes: %.5000s", err, out.Len(), out.String())
	}
}

// TestManyMissingValues checks that only the first of very many missing values are read.
func TestManyMissingValues(t *testing.T) {
	var list strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&list, "%d,", i)
	}
	doc := &metadata.Array{DataType: metadata.Extension{Name: "int32"}, Attributes: []byte(`{"missing_value":[` + list.String() + `0]}`)}
	f := Array{Doc: doc, Attributes: doc.Attributes}
	if text := f.missingText(); !strings.HasPrefix(text, "0, 1, 2,") || !strings.HasSuffix(text, "98, 99, …") {
		t.Errorf("missing values %.1000s", text)
	}
	doc = &metadata.Array{DataType: doc.DataType, Attributes: []byte(`{"_FillValue":5,"missing_value":[5,-1]}`)}
	few := Array{Doc: doc, Attributes: doc.Attributes}
	if text := few.missingText(); text != "5, -1" {
		t.Errorf("missing values %s", text)
	}
}
