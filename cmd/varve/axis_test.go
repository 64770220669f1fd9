// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
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

// TestSingleValues calls commands along an axis with single values, which have none, and
// with axes that an array does not have: each works, or says in a line that it does not.
func TestSingleValues(t *testing.T) {
	template := t.TempDir()
	t.Chdir(template)
	for _, name := range []string{"g", "h", "ga", "gb"} {
		must(t, "", "create", name, "--group")
	}
	for _, name := range []string{"a", "b", "g/s", "h/s", "ga/s", "gb/s"} {
		must(t, "", "create", name, "--shape", "", "--dtype", "int32")
	}
	for _, name := range []string{"ra", "rb", "ga/r", "gb/r"} {
		must(t, "", "create", name, "--shape", "2", "--dtype", "int32", "--dimension-names", "x")
	}
	must(t, "", "create", "time", "--shape", "", "--dtype", "int32", "--attributes", `{"units": "days since 2000-01-01"}`)
	overwrite(t, "one", "\x01")
	const noAxis, only1 = "there is no axis 0: the array has rank 0", "there is no axis 7: the array has rank 1"
	for _, c := range []struct{ line, want string }{ // want is a part of the message, "" for success
		{"stitch a b", noAxis},
		{"stitch a b --axis -1", "there is no axis -1: the array has rank 0"},
		{"stitch a ra", noAxis},
		{"stitch ra a", "does not continue"},
		{"stitch ra rb --axis 7", only1},
		{"stitch ra rb --axis -7", "there is no axis -7"},
		{"stitch ra rb --sort time", "time has rank 0"},
		{"stitch g h", "no array directly below the group has the axis 0"},
		{"stitch ga gb", ""},
		{"stitch ga gb --axis x", ""},
		{"stitch ga gb --axis 7", only1},
		{"append a b", "a single value"},
		{"append ra a", ""},
		{"append ra rb --axis 7", only1},
		{"append g s=b", noAxis},
		{"insert a --at 0 b", noAxis},
		{"insert ra --at 0 a --unlock", ""},
		{"insert ra --at 0 rb --axis 7", only1},
		{"insert g --at 0 s=b --axis x", "no array directly below"},
		{"drop a --range 0:1 --yes", noAxis},
		{"drop ra --range 0:1 --axis 7 --yes", only1},
		{"drop ga --range 0:1 --axis x --yes --unlock", ""},
		{"resize a --shape 3", "the new shape [3] has 1 axis"},
		{"resize a --shape 3 --grow calendar:month --time time", "the array has no axis"},
		{"resize ga x=3", ""},
		{"unlock a", ""},
		{"unlock a --axis 0", noAxis},
		{"unlock ga", ""},
		{"rechunk a --chunks 2", ""},
		{"rechunk a --chunks 2,2", "more than the 0 axes"},
		{"rechunk a c --chunks auto --follow", ""},
		{"rechunk a --chunks calendar:month --time time", "1 entry for 0 axes"},
		{"rechunk ra --chunks calendar:month --time time", "must have one axis"},
		{"compact a --to max:5", noAxis},
		{"compact a --to calendar:month --time time", noAxis},
		{"compact ra --axis 7 --to calendar:month --time time", only1},
		{"compact ra --axis -7 --to calendar:month --time time", "there is no axis -7"},
		{"compact a --shards", "not shards"},
		{"compact ga --to max:5", ""},
		{"compact ga --axis 7 --to calendar:month --time s", "no array of the group"},
		{"compact g --to max:5", "no array of the group"},
		{"regularize a", ""},
		{"regularize g", ""},
		{"pyramid g/s", "no axis is divided"},
		{"pyramid g/s --factors 0=2", "there is no axis 0"},
		{"filter ga c --where s==0", "0 axes, not one"},
		{"filter a c --mask one", "there is no axis 0"},
		{"filter ga c --where r==0", ""},
		{"virtualize a b -o m.vz", ""},
		{"virtualize a b -o m.vz --concat x", "no array has the dimension"},
		{"virtualize a b -o m.vz --stack x", ""},
		{"virtualize a ra -o m.vz --stack x", "number of axes"},
		{"virtualize ga gb -o m.vz --concat x", ""},
		{"virtualize ga gb -o m.vz --stack member", ""},
		{"grid a --locate 0", "an index of 1 axis"},
		{"grid a --axes 0", "there is no axis 0"},
		{"cat a --select 0", "1 axis selected"},
		{"export a --format csv --header", ""},
		{"convert a c --to 2", ""},
		{"bench a", ""},
	} {
		t.Run(c.line, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			_, errs, status := execute(t, "", strings.Fields(c.line)...)
			if status != 0 != (c.want != "") || !strings.Contains(errs, c.want) || c.want != "" && strings.Count(errs, "\n") != 1 {
				t.Errorf("status %d, %s", status, errs)
			}
		})
	}
}
