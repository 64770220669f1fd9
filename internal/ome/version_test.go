// SPDX-License-Identifier: Apache-2.0

package ome

import (
	"strings"
	"testing"

	"varve.dev/zarr/internal/strictjson"
)

// TestMoved moves metadata to the other version, and back.
func TestMoved(t *testing.T) {
	const image = `"axes":[{"name":"y"}],"datasets":[{"path":"0"}]`
	for _, c := range []struct{ group, old, newer, back string }{
		{"", `{"a": 1e3, "multiscales": [{` + image + `,"version":"0.4"}, {` + image + `}], "omero": {"id": 1.0}}`,
			`{"a": 1e3,"ome":{"version":"0.5","multiscales":[{` + image + `},{` + image + `}],"omero":{"id": 1.0}}}`,
			`{"a": 1e3,"multiscales":[{` + image + `,"version":"0.4"},{` + image + `,"version":"0.4"}],"omero":{"id": 1.0}}`},
		{"", `{"plate": {"rows": []}}`, `{"ome":{"version":"0.5","plate":{"rows": [],"version":"0.5"}}}`, `{"plate":{"rows": [],"version":"0.4"}}`},
		{"1", `{"well": {"version": "0.4", "images": []}}`, `{"ome":{"version":"0.5","well":{"version": "0.5", "images": []}}}`, `{"well":{"version": "0.4", "images": []}}`},
		{"1", `{"well": {"images": []}}`, `{"ome":{"version":"0.5","well":{"images": []}}}`, `{"well":{"images": [],"version":"0.4"}}`},
		{"cells", `{"image-label": {"version": "0.4"}, "multiscales": [{"version": "0.4", "datasets": []}]}`,
			`{"ome":{"version":"0.5","image-label":{"version": "0.5"},"multiscales":[{ "datasets": []}]}}`, ``},
		{"labels", `{"labels": ["cells"]}`, `{"ome":{"version":"0.5","labels":["cells"]}}`, `{"labels":["cells"]}`},
		{"", `{"bioformats2raw.layout": 3}`, `{"ome":{"version":"0.5","bioformats2raw.layout":3}}`, `{"bioformats2raw.layout":3}`},
		{"OME", `{"series": ["0"]}`, `{"ome":{"version":"0.5","series":["0"]}}`, `{"series":["0"]}`},
	} {
		got, note, err := Moved([]byte(c.old), c.group, "0.4", 3)
		if err != nil || strings.ReplaceAll(string(got), " ", "") != strings.ReplaceAll(c.newer, " ", "") || !strings.Contains(note, "become") {
			t.Errorf("%s became %s, want %s: %s, %v", c.old, got, c.newer, note, err)
		}
		back, note, err := Moved(got, c.group, "", 2)
		if err != nil || c.back != "" && strings.ReplaceAll(string(back), " ", "") != strings.ReplaceAll(c.back, " ", "") || !strings.Contains(note, "become") {
			t.Errorf("%s became %s, want %s: %s, %v", got, back, c.back, note, err)
		}
	}
}

// TestStays keeps what is of another version, or of no version.
func TestStays(t *testing.T) {
	for _, c := range []struct {
		attributes string
		format     int
		note       string
	}{
		{``, 3, ""}, {`null`, 2, ""}, {`{"ome":3}`, 2, ""}, {`{"ome":"plain"}`, 3, ""},
		{`{"omero":{}}`, 3, ""}, {`{"labels":["a"],"series":[1]}`, 3, ""}, {`{"plate":"a","well":[1]}`, 3, ""},
		{`{"multiscales":{"layout":[]}}`, 3, ""}, {`{"multiscales":[]}`, 3, ""},
		{`{"multiscales":[{"version":"0.3","axes":["y"],"datasets":[]}]}`, 3, "0.3 stay"},
		{`{"multiscales":[{"version":"0.4","axes":[{"name":"y"}],"datasets":[]},{"version":"0.6","datasets":[]}]}`, 3, "0.6 stay"},
		{`{"multiscales":[{"axes":["y"],"datasets":[]}]}`, 3, "before 0.4 stay"},
		{`{"multiscales":[{"datasets":[]}]}`, 3, "before 0.4 stay"},
		{`{"plate":{"version":"0.2"}}`, 3, "0.2 stay"},
		{`{"ome":{},"plate":{"version":"0.4"}}`, 3, "0.4 stay"},
		{`{"ome":{"version":"0.6","multiscales":[]}}`, 2, "0.6 stay"},
		{`{"plate":1,"ome":{"version":"0.5","plate":{}}}`, 2, "0.5 stay"},
		{`{"ome":{"version":"0.5","plate":3}}`, 2, "0.5 stay"},
		{`{"ome":{"version":"0.5","multiscales":[3]}}`, 2, "0.5 stay"},
	} {
		got, note, err := Moved([]byte(c.attributes), "g", "0.4", c.format)
		if string(got) != c.attributes || err != nil || (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s became %s: %q, %v", c.attributes, got, note, err)
		}
	}
}

// TestAround takes the version of what tells none from the image around it.
func TestAround(t *testing.T) {
	for _, c := range []struct{ attributes, name, around, version, note string }{
		{`{"labels":["a"]}`, "labels", "0.4", "", "become"}, {`{"labels":["a"]}`, "labels", "0.3", "", "0.3 stay"},
		{`{"labels":["a"]}`, "labels", "", "", "of unknown version stay"}, {`{"series":["0"]}`, "OME", "0.3", "", "0.3 stay"},
		{`{"bioformats2raw.layout":3,"omero":{}}`, "", "", "", "of unknown version stay"},
		{`{"plate":{"version":"0.4"},"bioformats2raw.layout":3}`, "", "0.3", "0.4", "become"},
		{`{"multiscales":[{"axes":[{"name":"y"}],"datasets":[]}]}`, "", "0.3", "0.4", "become"},
		{`{"ome":{"version":"0.5"}}`, "", "", "0.4", ""}, {`{"ome":{"version":"0.6"}}`, "", "", "0.6", ""}, {`null`, "", "0.4", "", ""},
	} {
		if got := Version([]byte(c.attributes), c.name); got != c.version {
			t.Errorf("%s is of version %q, want %q", c.attributes, got, c.version)
		}
		if _, note, err := Moved([]byte(c.attributes), c.name, c.around, 3); err != nil || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s in %q: %q, %v", c.attributes, c.around, note, err)
		}
	}
}

// FuzzMoved moves any attributes: the result is an object again, and what stays is as it
// was.
func FuzzMoved(f *testing.F) {
	for _, text := range []string{
		`{"a": 1e3, "multiscales": [{"axes":[{"name":"y"}],"datasets":[{"path":"0"}],"version":"0.4"}], "omero": {}}`,
		`{"ome":{"version":"0.5","plate":{"rows": [],"version":"0.5"},"labels":[1]},"b":null}`, `{"multiscales":[1]}`, `null`,
	} {
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, attributes []byte, newer bool) {
		format := map[bool]int{true: 3, false: 2}[newer]
		got, note, err := Moved(attributes, "labels", "0.4", format)
		if err != nil || note == "" || strings.Contains(note, "stay") {
			if err == nil && string(got) != string(attributes) {
				t.Errorf("%s became %s: %s", attributes, got, note)
			}
			return
		}
		if v, err := strictjson.Parse(got, strictjson.Limits{Size: int64(len(got))}); err != nil || v.Kind() != strictjson.Object {
			t.Errorf("%s became %s", attributes, got)
		}
	})
}
