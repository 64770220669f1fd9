package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAttributesTakeNoMemory shows the beginning of long attributes without copies of them.
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
	var s sheet
	s.attributes(object.Bytes())
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for attributes of %d", n, object.Len())
	}
	var out bytes.Buffer
	if err := s.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"long: \"éé", "list: [1, 2, 2", "…", "more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%.400s lacks %q", out.String(), want)
		}
	}
}
