// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"fmt"
	"runtime"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestMemory checks that references take at most about twice the memory of their
// document.
func TestMemory(t *testing.T) {
	racing.Skip(t)
	for name, url := range map[string]string{"one file": `"s3://bucket/folder/of/a/long/path.nc"`, "many files": `"s3://bucket/folder/%06d.nc"`} {
		text := []byte(`{"version":1,"templates":{"u":"x"},"refs":{`)
		for i := range 200_000 {
			if i > 0 {
				text = append(text, ',')
			}
			format := `"temperature/%d.0.0":[` + url + `,%d,4000]`
			if name == "one file" {
				text = fmt.Appendf(text, format, i, i*4000)
			} else {
				text = fmt.Appendf(text, format, i, i, i*4000)
			}
		}
		text = append(text, "}}"...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := must(t, text)
		runtime.ReadMemStats(&after)
		// All that was ever allocated is more than what was in use at one time.
		share := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text))
		t.Logf("%s: %.2f bytes per byte", name, share)
		if share > 2.1 || r.Len() != 200_000 {
			t.Errorf("%s: %d references take %.2f bytes per byte of JSON", name, r.Len(), share)
		}
	}
}

func FuzzParse(f *testing.F) {
	for name := range documents(f) {
		f.Add(read(f, name))
	}
	f.Add(generated("v/{{ i }}.{{name}}.{{k // 2}}", "{{u}}_{{i}}.nc", "{{(i+1)*1000 + k % 4}}", "8",
		`{"i":{"stop":2},"k":{"start":5,"stop":-2,"step":-3},"name":["a","b"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text, Limits{Generated: 1 << 16})
		if err != nil {
			return
		}
		checkWritten(t, "fuzz", r)
	})
}
