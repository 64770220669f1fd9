// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// textOf returns what a diff has, without the documents.
func textOf(d *icechunk.Diff) string {
	return fmt.Sprintf("new %v %v gone %v %v changed %v %v chunks %v moved %v", d.NewGroups, d.NewArrays, d.DeletedGroups, d.DeletedArrays, d.UpdatedGroups, d.UpdatedArrays, d.Chunks, d.Moved)
}

// TestDiff compares snapshots by transaction logs, and by their nodes and references if
// the history is not linear or a log is gone. Both find the same.
func TestDiff(t *testing.T) {
	r, s, ids := history(t)
	if err := r.CreateBranch(t.Context(), "other", ids[1].String()); err != nil {
		t.Fatal(err)
	}
	c, err := r.Session(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(c, "g/b").CreateArray(t.Context(), months, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, numbers(0, 59))
	}
	if err == nil {
		a, err = zarr.At(c, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	}
	if err == nil {
		err = a.SetAttribute(t.Context(), "units", "K")
	}
	if err != nil {
		t.Fatal(err)
	}
	commit(t, c, "month b")
	appended := "new [] [] gone [] [] changed [] [a] chunks map[a:[[%d]]] moved []"
	want := map[string]string{
		ids[0].String() + " " + ids[1].String(): fmt.Sprintf(appended, 2),
		"dev main":                              "new [] [] gone [] [] changed [] [a] chunks map[a:[[3] [4]]] moved []",
		"tag:v1 dev":                            fmt.Sprintf(appended, 2),
		"main main":                             "new [] [] gone [] [] changed [] [] chunks map[] moved []",
		"main dev":                              "new [] [] gone [] [] changed [] [a] chunks map[a:[[3] [4]]] moved []", // backwards
		"main other":                            "new [g] [g/b] gone [] [] changed [] [a] chunks map[a:[[3] [4]] g/b:[[0] [1]]] moved []",
		"other main":                            "new [] [] gone [g] [g/b] changed [] [a] chunks map[a:[[3] [4]]] moved []",
		"dev other":                             "new [g] [g/b] gone [] [] changed [] [a] chunks map[g/b:[[0] [1]]] moved []",
	}
	linear := []string{ids[0].String() + " " + ids[1].String(), "dev main", "tag:v1 dev", "main main", "dev other"}
	compare := func(r *icechunk.Repository, logs bool) {
		t.Helper()
		for refs, text := range want {
			from, to, _ := strings.Cut(refs, " ")
			d, err := r.Diff(t.Context(), from, to)
			if err != nil {
				t.Fatal(refs, err)
			}
			if textOf(d) != text || d.Logged != (slices.Contains(linear, refs) && (logs || from == to)) {
				t.Errorf("%s: %v %s, want %s", refs, d.Logged, textOf(d), text)
			}
		}
	}
	compare(r, true)
	// An older program has deleted the logs.
	without := memstore.New()
	again, _ := cloneOf(t, r, without, nil)
	for e, err := range store.List(t.Context(), without, mustPath(t, "transactions"), store.Flat) {
		if err == nil {
			_, err = store.Write(t.Context(), without, store.Delete(store.MustKey("transactions/"+e.Name)), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compare(again, false)
	d, err := r.Diff(t.Context(), "dev", "other")
	if docs := d.Documents["a"]; err != nil || strings.Contains(string(docs[0]), "units") || !strings.Contains(string(docs[1]), "units") || len(d.Documents) != 1 {
		t.Errorf("%q, %v", d.Documents, err)
	}
	// A log under another name would tell of another commit.
	log, _, err := s.Get(t.Context(), store.MustKey("transactions/"+ids[0].String()), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, store.MustKey("transactions/"+ids[1].String()), log)
	if d, err := r.Diff(t.Context(), "tag:v1", "dev"); err == nil || !strings.Contains(err.Error(), ids[1].String()) {
		t.Error(d, err)
	}
	if _, err := r.Diff(t.Context(), "main", "none"); !errors.Is(err, icechunk.ErrNoReference) {
		t.Error(err)
	}
}

// TestDiffOfRange compares snapshots of a clone that lacks those between them: their
// transaction logs are listed, and have all that has changed.
func TestDiffOfRange(t *testing.T) {
	r, _, _ := history(t)
	whole, err := r.Diff(t.Context(), "1CECHNKREP0F1RSTCMT0", "main")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := cloneOf(t, r, memstore.New(), &icechunk.CloneOptions{At: "main", Depth: 1})
	d, err := c.Diff(t.Context(), "1CECHNKREP0F1RSTCMT0", "main")
	if err != nil || !d.Logged || textOf(d) != textOf(whole) {
		t.Errorf("%s, %v, want %s", textOf(d), err, textOf(whole))
	}
}
