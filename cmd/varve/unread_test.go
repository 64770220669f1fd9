// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUnreadSource copies sources of several kinds with one value that cannot be read.
// The message names the value, and says that the source has to be mended: to repeat the
// command alone does not help. Once it is mended, the same command ends.
func TestUnreadSource(t *testing.T) {
	for kind, spoil := range map[string]func(dir, whole string) (src string, mend func()){
		"a file that is gone": func(dir, _ string) (string, func()) {
			must(t, "", "virtualize", dir+"/n.npy", "-o", dir+"/n.vz")
			renamed(t, dir+"/n.npy", dir+"/away.npy")
			return dir + "/n.vz", func() { renamed(t, dir+"/away.npy", dir+"/n.npy") }
		},
		"a file that was cut off": func(dir, _ string) (string, func()) {
			must(t, "", "virtualize", dir+"/n.npy", "-o", dir+"/n.vz")
			renamed(t, dir+"/n.npy", dir+"/away.npy")
			overwrite(t, dir+"/n.npy", read(t, dir+"/away.npy")[:150])
			return dir + "/n.vz", func() { renamed(t, dir+"/away.npy", dir+"/n.npy") }
		},
		"a damaged archive": func(dir, whole string) (string, func()) {
			must(t, "", "copy", whole, dir+"/a.zip")
			sound := read(t, dir+"/a.zip")
			overwrite(t, dir+"/a.zip", strings.Replace(sound, "\x03\x00\x00\x00\x04\x00\x00\x00", "\x03\x00\x01\x00\x04\x00\x00\x00", 1))
			return dir + "/a.zip", func() { overwrite(t, dir+"/a.zip", sound) }
		},
		"a server that refuses": func(dir, whole string) (string, func()) {
			must(t, "", "consolidate", whole)
			var mended atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !mended.Load() && strings.HasSuffix(r.URL.Path, "/a/c/1") {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				http.FileServer(http.Dir(whole)).ServeHTTP(w, r)
			}))
			t.Cleanup(s.Close)
			return s.URL, func() { mended.Store(true) }
		},
	} {
		for _, args := range [][]string{{"copy"}, {"copy", "--sync"}, {"materialize"}} {
			if kind == "a server that refuses" && len(args) > 1 {
				continue // it cannot be listed
			}
			dir := t.TempDir()
			must(t, "", "create", dir+"/whole.zarr/a", "--shape", "6", "--dtype", "int32", "--chunks", "2", "--codecs", `[{"name": "bytes", "configuration": {"endian": "little"}}]`)
			must(t, "[1,2,3,4,5,6]", "write", dir+"/whole.zarr/a", "--format", "json")
			must(t, "", "export", dir+"/whole.zarr/a", "-o", dir+"/n.npy")
			src, mend := spoil(dir, dir+"/whole.zarr")
			args = append(args, src, dir+"/dst.zarr")
			for range 2 {
				_, errs, status := execute(t, "", args...)
				if status != 1 || !strings.Contains(errs, " of the source cannot be read: ") || !strings.Contains(errs, "mend the source first, because the command stops there again") {
					t.Errorf("%s: varve %q: status %d, %s", kind, args, status, errs)
				}
				_, errs, _ = execute(t, "", append(args, "--json")...)
				if facts, _ := decode(t, errs)["error"].(map[string]any); !strings.Contains(fmt.Sprint(facts["key"]), "c/") {
					t.Errorf("%s: varve %q: %s", kind, args, errs)
				}
			}
			mend()
			must(t, "", args...)
		}
	}
}

// renamed gives a file another name.
func renamed(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// read returns the bytes of a file.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
