// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestView asks the page about nodes that are served.
func TestView(t *testing.T) {
	location := newNode(t, "my data.zarr")
	r := start(t, "n="+location, "--view")
	status, page := r.get(t, "@view/")
	if status != http.StatusOK || !strings.Contains(strings.ToLower(page), "<!doctype html>") {
		t.Errorf("%d %s", status, page)
	}
	for question, want := range map[string]string{
		"nodes":                      `"name":"n"`,
		"array?node=n":               `varve info '` + location + `'`,
		"array?node=n&":              `zarr.OpenArray(ctx, \"` + location + `\", nil)`,
		"plan?node=n&to=[4]":         `"command":"varve rechunk '` + location + `' --chunks 4"`,
		"value?node=n&index=3":       `"value":4`,
		"plane?node=n":               "no plane",
		"members?node=n/.hidden":     "no node here",
		"series?node=n&points=100":   `"values":[1,2,3,4]`,
		"cost?node=n&select=0:2":     `"requests":1`,
		"missing?node=n&axis=0":      `"missing":[]`,
		"chunks?node=n":              `"stored":[1,1]`,
		"coordinate?node=n&axis=0":   `"values":[0,1,2,3]`,
		"rows?node=n&from=1&count=2": `"rows":[["2"],["3"]]`,
	} {
		if _, body := r.get(t, "@view/api/"+question); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", question, body, want)
		}
	}
	// The checks of serve come first.
	if status, _ := r.get(t, "@view/api/nodes", "Host", "attacker.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", status)
	}
	if status, _ := r.get(t, "@view/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"); status != http.StatusForbidden {
		t.Errorf("another page: %d", status)
	}
	if errs := r.stop(t); !strings.Contains(errs, "page: "+r.base+"@view/\n") {
		t.Errorf("it printed %s", errs)
	}
	r = start(t, "n="+location)
	if status, _ := r.get(t, "@view/"); status == http.StatusOK {
		t.Errorf("without --view: %d", status)
	}
	r.stop(t)
}

// TestExpanded expands patterns to files, and leaves all else.
func TestExpanded(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.nc", "b.nc", "c.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := expanded([]string{filepath.Join(dir, "*.nc"), filepath.Join(dir, "x*"), "x=y", "s3://bucket/*.zarr", "["})
	if want := []string{filepath.Join(dir, "a.nc"), filepath.Join(dir, "b.nc"), filepath.Join(dir, "x*"), "x=y", "s3://bucket/*.zarr", "["}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
