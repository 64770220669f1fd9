// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newArchive returns a group with two arrays that have the dimensions time, lat and lon,
// and their coordinates.
func newArchive(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for name, c := range map[string][2]string{"t2m": {"4,3,2", "time,lat,lon"}, "deep/rain": {"4,3", "time,lat"}, "time": {"4", "time"}, "lat": {"3", "lat"}} {
		must(t, "", "create", group+"/"+name, "--shape", c[0], "--dtype", "int16", "--dimension-names", c[1], "--chunks", "2")
		must(t, "", "write", group+"/"+name, "--value", "1")
	}
	return group
}

func TestAxisByName(t *testing.T) {
	group := newArchive(t)
	must(t, "[[[1,2]],[[3,4]],[[5,6]],[[7,8]]]", "append", group+"/t2m", "--axis", "lat", "--alone", "--format", "json")
	if got := decode(t, must(t, "", "info", group+"/t2m", "--json"))["shape"]; !slices.Equal(got.([]any), []any{4.0, 4.0, 2.0}) {
		t.Error(got)
	}
	if out := must(t, "", "unlock", group+"/t2m", "--axis", "lon,-3"); !strings.Contains(out, "2×2 | 2×2 | 2") {
		t.Error(out)
	}
	if turned, want := must(t, "", "grid", group+"/t2m", "--axes", "lon,time"), must(t, "", "grid", group+"/t2m", "--axes", "2,0"); turned != want {
		t.Errorf("%s\n%s", turned, want)
	}
}

func TestAxisRefused(t *testing.T) {
	group, bare := newArchive(t), newNode(t, "--shape", "3", "--dtype", "int8")
	for _, c := range []struct {
		want string
		args []string
	}{
		{`did you mean time?`, []string{"append", group + "/t2m", "--axis", "tmie"}},
		{`the array has time, lat, lon`, []string{"unlock", group + "/t2m", "--axis", "x"}},
		{`the array has time, lat, lon`, []string{"grid", group + "/t2m", "--axes", "x"}},
		{"axis 2", []string{"append", group + "/lat", "--axis", "2"}},
		{"axis 7", []string{"unlock", group + "/lat", "--axis", "7"}},
		{"have no names", []string{"append", bare, "--axis", "time"}},
		{"have no names", []string{"unlock", bare, "--axis", "time"}},
		{"did you mean lat?", []string{"unlock", group, "--axis", "lst"}},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			out, errs, status := execute(t, "ab", append(c.args, more...)...)
			if status != 1 || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("%q: status %d, %q, %s", c.args, status, out, errs)
			}
		}
	}
}

func TestUnlockGroup(t *testing.T) {
	group := newArchive(t)
	out := must(t, "", "unlock", group, "--axis", "time")
	if lines := strings.Split(out, "\n"); len(lines) != 5 || strings.Contains(out, "/lat ") || !strings.Contains(out, "/deep/rain  rectilinear") {
		t.Error(out)
	}
	for _, name := range []string{"t2m", "time"} {
		if got := chunkShapes(t, group+"/"+name); !strings.HasPrefix(got, "[[[2,2]]") {
			t.Errorf("%s: %s", name, got)
		}
	}
	out = must(t, "", "unlock", group, "--json")
	arrays, _ := decode(t, out)["arrays"].([]any)
	changed := 0
	for _, a := range arrays {
		if a.(map[string]any)["changed"] == true {
			changed++
		}
	}
	if len(arrays) != 4 || changed != 3 {
		t.Errorf("%d of %d changed: %s", changed, len(arrays), out)
	}
	if out := must(t, "", "check", group); !strings.HasSuffix(out, ": 0 faults\n") {
		t.Error(out)
	}
}

// TestUnlockGroupVersion2 checks that groups of format 2 are refused.
func TestUnlockGroupVersion2(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group", "--zarr-format", "2")
	must(t, "", "create", group+"/a", "--shape", "4", "--dtype", "int8", "--dimension-names", "x")
	for _, args := range [][]string{{"unlock", group}, {"unlock", group, "--axis", "x"}, {"unlock", group, "--axis", "0"}} {
		if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, "/a: format 2") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}

func TestCheckGroup(t *testing.T) {
	group := newArchive(t)
	sound := must(t, "", "check", group)
	if lines := strings.Split(sound, "\n"); len(lines) != 8 || !strings.Contains(lines[6], "4 arrays, ") || !strings.HasSuffix(sound, ": 0 faults\n") {
		t.Error(sound)
	}
	spoil(t, filepath.Join(group, "deep", "rain", "c", "1", "0"), func(b []byte) []byte { return b[:len(b)-3] })
	spoil(t, filepath.Join(group, "lat", "zarr.json"), func(b []byte) []byte { return []byte(strings.Replace(string(b), `"zstd"`, `"zzz"`, 1)) })
	out, errs, status := execute(t, "", "check", group)
	if status != 1 || !strings.Contains(out, "c/1/0") || !strings.Contains(out, "/t2m  4 stored chunks") || !strings.Contains(out, "/lat  cannot be checked: ") {
		t.Errorf("status %d\n%s", status, out)
	}
	if !strings.Contains(errs, ": 1 fault in 1 of ") || !strings.Contains(errs, "1 array could not be checked") {
		t.Error(errs)
	}
	out, errs, status = execute(t, "", "check", group, "--json")
	facts := decode(t, out)
	arrays, _ := facts["arrays"].([]any)
	if status != 1 || errs != "" || len(arrays) != 4 || facts["faults"] != 1.0 || facts["arrays_not_checked"] != 1.0 || facts["path"] != group {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// TestMeant checks the proposals for misspelled flags, commands and nodes.
func TestMeant(t *testing.T) {
	group := newArchive(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"did you mean --shape?", []string{"create", "a", "--shpae", "3"}},
		{"did you mean --select?", []string{"cat", "a", "--selcet", "3"}},
		{"unknown flag: --frobnicate", []string{"cat", "a", "--frobnicate"}},
		{"did you mean export?", []string{"exprot", "a"}},
		{"did you mean t2m?", []string{"info", group + "/t2n"}},
		{"did you mean t2m?", []string{"cat", group + "/t2n/"}},
		{"did you mean deep?", []string{"ls", group + "/dep"}},
		{"did you mean rain?", []string{"equal", group + "/deep/rain", group + "/deep/rian"}},
		{"did you mean time?", []string{"append", group, "tiem=-"}},
	} {
		out, errs, status := execute(t, "", c.args...)
		if status == 0 || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "did you mean") > 1 {
			t.Errorf("%q: status %d, %q, %s", c.args, status, out, errs)
		}
		_, errs, _ = execute(t, "", append(c.args, "--json")...)
		if facts, _ := decode(t, errs)["error"].(map[string]any); !strings.Contains(facts["message"].(string), c.want) {
			t.Errorf("%q: %s", c.args, errs)
		}
	}
	for _, args := range [][]string{{"info", group + "/xyz"}, {"info", "nowhere.zarr"}, {"write", group + "/t2m", group + "/t2n"}} {
		if _, errs, status := execute(t, "", args...); status != 1 || strings.Contains(errs, "did you mean") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}

// TestMessagesHaveNoTypeNames checks that messages name no Go types or libraries.
func TestMessagesHaveNoTypeNames(t *testing.T) {
	for _, args := range [][]string{
		{"create", "a", "--shape", "x", "--dtype", "int8"}, {"append", "a", "--grow", "x"}, {"create", "a", "--zarr-format", "x"}, {"create", "a", "--group=perhaps"},
		{"bench", "a", "--rounds", "x"}, {"unlock", "a", "--axis", "\"x"},
	} {
		_, errs, status := execute(t, "", args...)
		if status != 2 || strings.Contains(errs, "strconv") || strings.Contains(errs, "invalid argument") || strings.Contains(errs, "Slice") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}
