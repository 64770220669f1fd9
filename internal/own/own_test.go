// SPDX-License-Identifier: Apache-2.0

package own

import "testing"

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // ours, reserved
		"__varve": {true, true}, "__varve.lock": {true, true}, "__varve.publish": {true, true},
		"__tmp-": {true, true}, "__tmp-1": {true, true},
		"__varve2": {false, true}, "__varve.locks": {false, true}, "__tmp": {false, true},
		"__categories": {false, true}, "__": {false, true},
		"_varve": {}, "a__varve": {}, "": {}, "varve": {}, "c": {},
	} {
		if got := [2]bool{IsReserved(name), Reserved(name)}; got != want {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
}

// TestIsTemporary tells the names of temporary files from those of other programs.
func TestIsTemporary(t *testing.T) {
	for range 100 {
		if id := Random(); len(id) != randomDigits || !IsTemporary(Temporary+id) || !IsTemporary(Temporary+id+"-1z") || !IsTemporary(Temporary+id+ZipLock) {
			t.Errorf("%q is none", id)
		}
	}
	for _, name := range []string{
		"__tmp-", "__tmp-x", "__tmp-results", "__tmp-notes.txt", "__tmp-writers", "__tmp-measurements1", "__tmp-measurements", "__tmp-00000000000001", "__tmp-0000000000001-",
		"__tmp-0000000000001.txt", "__tmp-0000000000001-a.b", "__tmp-000000000000A", "__tmp-0000000000001-A", "__tmp-+000000000001", "0000000000001", "__tmp-zzzzzzzzzzzzz",
	} {
		if IsTemporary(name) {
			t.Errorf("%q is one", name)
		}
	}
}

// TestIsForeign tells what Varve keeps in its directories from nodes of other programs.
func TestIsForeign(t *testing.T) {
	for key, want := range map[string]bool{
		"__varve/pending.json": false, "a/__varve/together-1f.json": false, "a/__varve/unfinished.json": false, "__varve/regrid.json": false, "__varve/pyramid.json": false,
		"__varve/aside/3x4/c/0": false, "__varve/grids/000001-x.since": false, "__varve/regrid/running.json": false, "a/__varve/merged/": false, "__varve/": false,
		"__varve/converting/x": false, "__varve/filter/x/0": false, "__varve/follow/x": false, "__varve/parts/x/1": false, "__varve/scratch/x/records/0": false,
		"a": false, "__varve": false, "a/__varve": false, "__varve2/zarr.json": false, "zarr.json": false,
		"__varve/.zarray": true, "__varve/.zattrs": true, "a/__varve/zarr.json": true, "__varve/.zgroup": true, "__varve/.zmetadata": true,
		"__varve/0": true, "__varve/c/0": true, "__varve/t2m/": true, "__varve/grids": true, "__varve/parts/.zarray": true, "__varve/notes.txt": true, "__varve/__varve/0": true,
		"a/__varve/statistics/zarr.json": false, "__varve/statistics/c/0/1": false, "__varve/statistics/": false,
		"__varve/statistics": true, "__varve/statistics/.zarray": true, "__varve/statistics/c/zarr.json": true, "__varve/parts/statistics/zarr.json": true,
		"__varve/pending.json/x": true, "__varve/pending.json/": true,
	} {
		if got := IsForeign(key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
}

func TestIsBelow(t *testing.T) {
	for key, want := range map[string]bool{
		"__varve/a": true, "a/__varve/b/c": true,
		"__varve": false, "a/__varve": false, "a__varve/b": false, "__varve2/a": false, "": false,
	} {
		if got := IsBelow(key); got != want {
			t.Errorf("%q is %v, want %v", key, got, want)
		}
	}
}
