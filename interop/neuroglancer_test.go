// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store/memstore"
)

// TestNeuroglancer opens views of arrays in neuroglancer, in Chromium, as a page of
// another origin.
func TestNeuroglancer(t *testing.T) {
	page := filepath.Join(cache(), "neuroglancer", "page")
	chromium, err := exec.LookPath("chromium")
	if err != nil || !exists(filepath.Join(page, "index.html")) {
		t.Skip("no Chromium, or neuroglancer is not installed, so nothing is shown by it; run interop/neuroglancer/setup")
	}
	s := memstore.New()
	for name, spec := range map[string]zarr.Spec{
		"edges":  {Chunks: []grid.Cut{grid.Edges(3, 7, 10), grid.Every(9), grid.Edges(1, 39)}},
		"shards": {Chunks: grid.Chunks(10, 18, 20), InnerChunks: grid.Chunks(5, 9, 10)},
		"chunks": {Chunks: grid.Chunks(7, 7, 7)},
	} {
		spec.Shape, spec.Type = []int64{20, 30, 40}, dtype.Uint16
		a, err := zarr.At(s, name).CreateArray(t.Context(), spec, nil)
		check(t, err)
		data := make([]uint16, 20*30*40)
		for i := range data {
			data[i] = uint16(i)
		}
		check(t, zarr.Write(t.Context(), a, nil, data))
	}
	answers := make(chan map[string]any, 1)
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir(page)))
	mux.HandleFunc("POST /answer", func(_ http.ResponseWriter, r *http.Request) {
		var is map[string]any
		if err := json.NewDecoder(r.Body).Decode(&is); err != nil {
			is = map[string]any{"error": err.Error()}
		}
		answers <- is
	})
	pages := httptest.NewServer(mux)
	defer pages.Close()
	h, err := serve.New([]serve.Node{{Name: "g", Location: zarr.At(s, "")}}, &serve.Options{Origins: []string{pages.URL}})
	check(t, err)
	arrays := httptest.NewServer(h)
	defer arrays.Close()
	for _, source := range []string{"zarr://" + arrays.URL + "/@regular/g/edges", "zarr://" + arrays.URL + "/@regular,chunks=8x8x8/g/shards", "zarr://" + arrays.URL + "/@v2/g/chunks"} {
		query := url.Values{"source": {source}, "answer": {"/answer"}, "positions": {"[[0,0,0],[19,29,39],[3,10,1],[12,0,39]]"}}
		browser := exec.Command(chromium, "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
			"--user-data-dir="+t.TempDir(), "--window-size=500,400", pages.URL+"/?"+query.Encode())
		check(t, browser.Start())
		select {
		case is := <-answers:
			values, _ := is["values"].([]any)
			if want := []any{"0", "23999", "4001", "14439"}; !slices.Equal(values, want) {
				t.Errorf("%s: %v, want %v", source, is, want)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("%s: no answer", source)
		}
		_ = browser.Process.Kill()
		_ = browser.Wait() // it was killed
	}
}
