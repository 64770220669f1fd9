// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spoil changes the bytes of a file.
func spoil(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, string(change(data)))
}

func TestCheck(t *testing.T) {
	node := untidy(t)
	sound := decode(t, must(t, "", "check", node, "--json", "--dry-run"))
	if sound["path"] != node || sound["chunks_stored"] != 2.0 || sound["inner_chunks_stored"] != 12.0 || sound["faults"] != 0.0 || sound["bytes_dead"] == 0.0 || len(sound["found"].([]any)) > 0 {
		t.Error(sound)
	}
	if out := must(t, "", "check", node); !strings.HasPrefix(out, node+"  2 stored shards with 12 inner chunks, ") || !strings.Contains(out, "compact --shards") || !strings.HasSuffix(out, ": 0 faults\n") {
		t.Error(out)
	}
	spoil(t, filepath.Join(node, "c", "1", "0"), func(b []byte) []byte { return b[:len(b)-3] })
	spoil(t, filepath.Join(node, "c", "0", "0"), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
	out, errs, status := execute(t, "", "check", node)
	if lines := strings.Split(out, "\n"); status != 1 || len(lines) != 4 || !strings.Contains(lines[1], "c/0/0") || !strings.Contains(lines[2], "c/1/0") {
		t.Errorf("status %d\n%s", status, out)
	}
	if want := "varve: check " + node + ": 2 faults in 2 of 2 stored chunks\n"; errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
	out, errs, status = execute(t, "", "check", node, "--json", "--fast")
	found, _ := decode(t, out)["found"].([]any)
	if status != 1 || errs != "" || len(found) != 2 {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	first, _ := found[0].(map[string]any)
	if first["key"] != "c/0/0" || first["kind"] != "checksum" || first["shared"] != false || !slices.Equal(first["chunk"].([]any), []any{0.0, 0.0}) {
		t.Error(first)
	}
}

// TestCheckChunks checks chunks that are not shards, and files that are not chunks.
func TestCheckChunks(t *testing.T) {
	node := newNode(t, "--shape", "9", "--dtype", "int16", "--chunks", "4")
	must(t, "", "write", node, "--value", "3", "--select", ":8")
	if out := must(t, "", "check", node); !strings.HasPrefix(out, node+"  2 stored chunks, ") || !strings.HasSuffix(out, ": 0 faults\n") {
		t.Error(out)
	}
	spoil(t, filepath.Join(node, "c", "1"), func(b []byte) []byte { return b[1:] })
	out, errs, status := execute(t, "", "check", node, "--json")
	if got := decode(t, out); status != 1 || got["faults"] != 1.0 || got["chunks_damaged"] != 1.0 || got["inner_chunks_stored"] != 0.0 {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	_, errs, status = execute(t, "", "check", filepath.Dir(node), "--json")
	if facts, _ := decode(t, errs)["error"].(map[string]any); status != 1 || facts["kind"] == nil {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestCheckListsTemporaryFiles leaves a temporary file, like a crashed writer. check
// lists it, for arrays and groups, and the next change removes it.
func TestCheckListsTemporaryFiles(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	node := filepath.Join(group, "a")
	must(t, "", "create", node, "--shape", "4", "--dtype", "int16")
	must(t, "", "write", node, "--value", "3")
	if got := decode(t, must(t, "", "check", node, "--json"))["temporary"]; len(got.([]any)) != 0 {
		t.Errorf("temporary files of a tidy array: %v", got)
	}
	overwrite(t, filepath.Join(node, "c", "__tmp-0123456789abc"), "12345")
	for _, at := range []string{node, group} {
		if out := must(t, "", "check", at); !strings.Contains(out, "c/__tmp-0123456789abc  temporary file, 5 B, of ") || !strings.Contains(out, "1 temporary file with 5 B") {
			t.Error(out)
		}
		files, _ := decode(t, must(t, "", "check", at, "--json"))["temporary"].([]any)
		if len(files) != 1 || files[0].(map[string]any)["bytes"] != 5.0 {
			t.Errorf("%s: %v", at, files)
		}
	}
}

// TestCheckUnreadable checks an array with chunks that cannot be read. They are findings,
// and the others are still checked.
func TestCheckUnreadable(t *testing.T) {
	dir := newNode(t, "--shape", "400", "--dtype", "int8", "--chunks", "2")
	must(t, "", "write", dir, "--value", "1")
	for limit, want := range map[int]int{3: 2, 400: 0} { // chunks 0, 1 and 2 but one; all of them
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			i, err := strconv.Atoi(path.Base(r.URL.Path))
			switch {
			case err != nil || i >= limit || i == 1 && want > 0:
				http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
			case i%2 == 0:
				w.WriteHeader(http.StatusForbidden)
			default:
				w.WriteHeader(http.StatusTeapot)
			}
		}))
		t.Cleanup(server.Close)
		out, errs, status := execute(t, "", "check", server.URL, "--json")
		if want == 0 { // there is nothing to be said of an array when nothing of it can be read
			if status != 1 || !strings.Contains(errs, `"error"`) {
				t.Errorf("status %d, %s%s", status, out, errs)
			}
			continue
		}
		found, _ := decode(t, out)["found"].([]any)
		if status != 1 || len(found) != want || decode(t, out)["chunks_stored"] != float64(200) {
			t.Fatalf("status %d, %s%s", status, out, errs)
		}
		for i, f := range found {
			fact, _ := f.(map[string]any)
			if chunk, _ := fact["chunk"].([]any); fact["kind"] != "permission" || chunk[0] != float64(2*i) {
				t.Errorf("finding %d is %v", i, fact)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "c", "5")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("5", filepath.Join(dir, "c", "5")); err != nil {
		t.Skip(err)
	}
	out, errs, status := execute(t, "", "check", dir, "--json")
	found, _ := decode(t, out)["found"].([]any)
	if status != 1 || len(found) != 1 || found[0].(map[string]any)["kind"] != "io" {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}
