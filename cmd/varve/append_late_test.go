// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
)

// lateTo appends days to a station by one command, with one file for each day. It returns
// the counts.
func lateTo(t *testing.T, group string, factor int, how string, list ...int) string {
	t.Helper()
	args := []string{"append", group, "--by", "time", "--on-duplicate", how, "--json", "--grace", "0s"}
	for _, d := range list {
		times, values := days(factor, d)
		f := files(t, values, times)
		args = append(args, "t="+f[0], "time="+f[1])
	}
	return countsOf(decode(t, must(t, "", args...)))
}

// checkDays compares a station with days, and the factors of their values.
func checkDays(t *testing.T, group string, days, factors []int) {
	t.Helper()
	var times, values []string
	for k, d := range days {
		times, values = append(times, fmt.Sprint(d)), append(values, fmt.Sprintf("[%d,%d]", factors[k]*d+1, factors[k]*d+2))
	}
	want := "[" + strings.Join(times, ",") + "]\n[" + strings.Join(values, ",") + "]\n"
	if got := valuesOf(t, group); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAppendOfFill refuses a plane whose coordinate is the fill value: a source that was
// resized has such planes, and nobody has written them.
func TestAppendOfFill(t *testing.T) {
	dir := t.TempDir()
	group, source := filepath.Join(dir, "g.zarr"), filepath.Join(dir, "source.zarr")
	station(t, group, "3,2")
	must(t, "", byTime(t, group, 10, "", 4, 8)...)
	must(t, "", "copy", group, source)
	_, errs, status := execute(t, "", "resize", source, "time=3")
	if status != 0 {
		t.Fatal(errs)
	}
	_, errs, status = execute(t, "", "append", group, source, "--by", "time", "--on-duplicate", "skip")
	if status != 1 || !strings.Contains(errs, "element 2 in ") || !strings.Contains(errs, "is the fill value") {
		t.Errorf("status %d, %s", status, errs)
	}
	checkDays(t, group, []int{4, 8}, []int{10, 10})
}

// TestAppendLate inserts late days of several files by one rechunk, in several
// places, before the first day, and into a coordinate that falls.
func TestAppendLate(t *testing.T) {
	for _, chunks := range []string{"3,2", "[[1],1]"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		station(t, group, chunks)
		must(t, "", byTime(t, group, 10, "", 4, 8)...)
		for _, c := range []struct {
			how     string
			list    []int
			counts  string
			days    []int
			factors []int
		}{
			// Three places, of which one gets two days, and one that is appended.
			{"skip", []int{6, 2, 9, 5, 8, 4}, "1 3 0 0 2", []int{2, 4, 5, 6, 8, 9}, []int{20, 10, 20, 20, 10, 20}},
			{"skip", []int{7, 7}, "0 1 0 0 1", []int{2, 4, 5, 6, 7, 8, 9}, []int{20, 10, 20, 20, 20, 10, 20}},
			{"replace", []int{3, 3, 4}, "0 1 0 2 0", []int{2, 3, 4, 5, 6, 7, 8, 9}, []int{20, 20, 20, 20, 20, 20, 10, 20}},
		} {
			if got := lateTo(t, group, 20, c.how, c.list...); got != c.counts {
				t.Errorf("%v: %s, want %s", c.list, got, c.counts)
			}
			checkDays(t, group, c.days, c.factors)
		}
		// Of two files with the same late day, the first or the last counts.
		for how, want := range map[string]int{"skip": 1, "replace": 2} {
			group := filepath.Join(t.TempDir(), "g.zarr")
			station(t, group, chunks)
			must(t, "", byTime(t, group, 10, "", 4, 8)...)
			var args []string
			for factor := 1; factor < 3; factor++ {
				args = append(args, byTime(t, group, factor, how, 6)[2:4]...)
			}
			must(t, "", append([]string{"append", group, "--by", "time", "--on-duplicate", how}, args...)...)
			checkDays(t, group, []int{4, 6, 8}, []int{10, want, 10})
		}
		falling := filepath.Join(t.TempDir(), "g.zarr")
		station(t, falling, chunks)
		must(t, "", byTime(t, falling, 10, "", 8, 4, 2)...)
		if got := lateTo(t, falling, 10, "skip", 3, 9, 1, 6); got != "1 3 0 0 0" {
			t.Error(got)
		}
		checkDays(t, falling, []int{9, 8, 6, 4, 3, 2, 1}, []int{10, 10, 10, 10, 10, 10, 10})
	}
}

// TestAppendLateError refuses a late day that two files have, and inserts those of the
// files before one that cannot be appended.
func TestAppendLateError(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	station(t, group, "[[1],1]")
	must(t, "", byTime(t, group, 10, "", 4, 8)...)
	args := []string{"append", group, "--by", "time"}
	args = append(args, byTime(t, group, 10, "", 6)[2:4]...)
	args = append(args, byTime(t, group, 20, "", 9)[2:4]...)
	args = append(args, byTime(t, group, 20, "", 10, 6)[2:4]...)
	_, errs, status := execute(t, "", args...)
	if status != 1 || !strings.Contains(errs, "2023-01-07") || !strings.Contains(errs, "the first 2 of 3 files") {
		t.Errorf("status %d, %s", status, errs)
	}
	checkDays(t, group, []int{4, 6, 8, 9}, []int{10, 10, 10, 20})
}

// TestAppendLateLeftOut appends days although late ones cannot be inserted. The command
// says which, why, and what to do.
func TestAppendLateLeftOut(t *testing.T) {
	dir := t.TempDir()
	// An array of 32 MiB with regular chunks cannot get planes within.
	large := func(name string) string {
		group := filepath.Join(dir, name)
		must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int32", "--chunks", "3", "--attributes", `{"units": "days since 2023-01-01"}`, "--dimension-names", "time")
		must(t, "", "create", group+"/t", "--shape", "0,4194304", "--dtype", "int16", "--chunks", "2,4194304", "--dimension-names", "time,x")
		return group
	}
	plane := filepath.Join(dir, "plane.zarr")
	createNoted(t, plane, "--shape", "1,4194304", "--dtype", "int16")
	group := large("g.zarr")
	add := func(more []string, list ...int) (out, errs string, status int) {
		args := append([]string{"append", group, "--by", "time", "--on-duplicate", "skip"}, more...)
		for _, d := range list {
			args = append(args, "t="+plane, "time="+files(t, fmt.Sprintf("[%d]", d))[0])
		}
		return execute(t, "", args...)
	}
	times := func(want string) {
		t.Helper()
		if got := must(t, "", "export", group+"/time", "--format", "json"); got != want+"\n" {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, errs, status := add(nil, 0, 1, 4); status != 0 {
		t.Fatal(errs)
	}
	out, errs, status := add(nil, 3, 5)
	if status != 1 || !strings.Contains(out, "1 appended, 1 left out") || !strings.Contains(errs, "1 late value that belongs between others could not be inserted (2023-01-04)") || !strings.Contains(errs, "--unlock permits") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	times("[0,1,4,5]")
	out, errs, status = add([]string{"--json"}, 3)
	facts := decode(t, out)
	if status != 1 || !strings.Contains(errs, `"kind": "invalid-argument"`) || fmt.Sprint(facts["left_out"]) != "[2023-01-04]" || !strings.Contains(fmt.Sprint(facts["reason"]), "--unlock permits") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	// A dry run fails as the command would.
	if _, errs, status := add([]string{"--dry-run"}, 3); status != 1 || !strings.Contains(errs, "--unlock permits") {
		t.Errorf("dry run: status %d, %s", status, errs)
	}
	if _, errs, status := add([]string{"--unlock"}, 3, 6); status != 0 {
		t.Error(errs)
	}
	times("[0,1,3,4,5,6]")

	// Every insertion takes keys. The time has three sets of them.
	group = filepath.Join(dir, "keys.zarr")
	station(t, group, "[[1],2]")
	must(t, "", byTime(t, group, 10, "", 0, 9)...)
	status = 0
	for day := 1; status != 1 && day < 5; day++ {
		_, errs, status = execute(t, "", byTime(t, group, 10, "skip", day, day+10)[:6]...)
		if status == 1 && (!strings.Contains(errs, "--grace") || day < 3) {
			t.Errorf("day %d: %s", day, errs)
		}
	}
	if status != 1 {
		t.Error("there are always free keys")
	}
	if _, errs, status = execute(t, "", append(byTime(t, group, 10, "skip", 7), "--dry-run")...); status != 1 || !strings.Contains(errs, "no chunk keys are free") {
		t.Errorf("dry run: status %d, %s", status, errs)
	}
	if got := lateTo(t, group, 10, "skip", 5, 1); got != "0 1 0 0 1" {
		t.Error(got)
	}
}

// TestAppendLateCalendar inserts a late day into the month that grows, and into one
// before. The calendar continues as before.
func TestAppendLateCalendar(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--attributes", `{"units": "days since 2023-01-01"}`, "--dimension-names", "time")
	must(t, "", "create", group+"/t", "--shape", "0,2", "--dtype", "int16", "--chunks", "calendar:month", "--time", "time", "--grow", "calendar:month", "--dimension-names", "time,x")
	var list []int
	for d := range 100 {
		list = append(list, d)
		// The 1st of March is late, too. From 2 March on there is a chunk for the month.
		if d < 65 && d != 20 && d != 41 && d != 59 && d != 61 {
			must(t, "", byTime(t, group, 10, "", d)...)
		}
	}
	for _, d := range []int{41, 61, 20, 59} {
		if got := lateTo(t, group, 10, "skip", d); got != "0 1 0 0 0" {
			t.Error(d, got)
		}
	}
	must(t, "", byTime(t, group, 10, "skip", list...)...)
	factors := make([]int, len(list))
	for i := range factors {
		factors[i] = 10
	}
	checkDays(t, group, list, factors)
	// April has a chunk, which begins where it should.
	must(t, "", "compact", group+"/t", "--to", "calendar:month", "--grace", "0s")
	if got := must(t, "", "info", group+"/t"); !strings.Contains(got, "31, 10\n") || !strings.Contains(got, "end at element 120") {
		t.Error(got)
	}
}

// TestAppendLateBesideFree puts late values where a cell without a value is free, and
// inserts others. A value that is missing has no place.
func TestAppendLateBesideFree(t *testing.T) {
	for dtype, missing := range map[string]string{"float64": "NaN", "datetime64[D]": "NaT"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group+"/time", "--shape", "5", "--dtype", dtype, "--chunks", "2", "--dimension-names", "time", "--fill", missing)
		must(t, "", "create", group+"/t", "--shape", "5", "--dtype", "int16", "--chunks", "2", "--dimension-names", "time")
		value := func(d int) string {
			if dtype == "float64" {
				return fmt.Sprint(d)
			}
			return fmt.Sprintf(`"1970-01-%02d"`, d+1)
		}
		add := func(list ...int) (string, int) {
			args := []string{"append", group, "--by", "time", "--on-duplicate", "skip", "--json", "--grace", "0s"}
			for _, d := range list {
				times := value(d)
				if d < 0 {
					times = `"` + missing + `"`
				}
				f := files(t, fmt.Sprint("[", d, "]"), "["+times+"]")
				args = append(args, "t="+f[0], "time="+f[1])
			}
			out, errs, status := execute(t, "", args...)
			if status != 0 {
				return errs, status
			}
			return countsOf(decode(t, out)), 0
		}
		for _, c := range []struct {
			list []int
			want string
		}{{[]int{2, 4}, "0 0 2 0 0"}, {[]int{8}, "0 0 1 0 0"}, {[]int{6, 3, 5}, "0 2 1 0 0"}, {[]int{5, 12}, "0 0 1 0 1"}} {
			if got, status := add(c.list...); got != c.want {
				t.Errorf("%s %v: %s (%d), want %s", dtype, c.list, got, status, c.want)
			}
		}
		if got := must(t, "", "export", group+"/t", "--format", "json"); got != "[2,3,4,5,6,8,12]\n" {
			t.Error(dtype, got)
		}
		if got, status := add(-1); status != 1 || !strings.Contains(got, "is missing") {
			t.Error(status, got)
		}
	}
}

// TestAppendLateForeign inserts files of another format, whose times count otherwise,
// into an archive with an array that lacks the dimension.
func TestAppendLateForeign(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_*.nc"))
	must(t, "", "create", "a.zarr/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--dimension-names", "time", "--attributes", `{"units": "hours since 2000-01-01"}`)
	must(t, "", "create", "a.zarr/t", "--shape", "0,4,5", "--dtype", "float32", "--chunks", "[[1],4,5]", "--dimension-names", "time,y,x")
	must(t, "", "create", "a.zarr/mask", "--shape", "4,5", "--dtype", "int8", "--dimension-names", "y,x")
	must(t, "", "append", "a.zarr", "epochs_days_01.nc")
	must(t, "", "append", "a.zarr", "epochs_days_03.nc")
	must(t, "", "append", "a.zarr", "epochs_days_0[123].nc", "--by", "time", "--on-duplicate", "skip")
	must(t, "", "virtualize", "epochs_days_0[123].nc", "--concat", "time", "-o", "all.vz")
	for _, c := range [][]string{{"t"}, {"time", "--decode"}} {
		got := must(t, "", append([]string{"export", "a.zarr/" + c[0], "--format", "json"}, c[1:]...)...)
		want := must(t, "", append([]string{"export", "all.vz/" + c[0], "--format", "json"}, c[1:]...)...)
		if got != strings.ReplaceAll(want, ".000000", "") {
			t.Errorf("%s: %s, want %s", c[0], got, want)
		}
	}
}

// TestAppendByModel appends random days, in any order and many of them twice, by many
// commands. The arrays are those of a sorted map.
func TestAppendByModel(t *testing.T) {
	racing.Skip(t)
	rounds := 5
	if os.Getenv("VARVE_LONG") != "" {
		rounds = 12
	}
	for seed, policy := range []string{"3,2", "[[1],1]", "[[1],2] --grow fixed:3", "[[2],2] --grow pattern:1,3", "[[5],2] --grow repeat-last", "2,1 --unlock"} {
		r := rand.New(rand.NewPCG(uint64(seed), 17))
		group := filepath.Join(t.TempDir(), "g.zarr")
		words := strings.Fields(policy)
		station(t, group, words[0])
		must(t, "", byTime(t, group, 10, "", 40, 41)...)
		model := map[int]int{40: 10, 41: 10}
		for round := range rounds {
			how := []string{"skip", "replace", "error"}[r.IntN(3)]
			args := append([]string{"append", group, "--by", "time", "--on-duplicate", how, "--grace", "0s"}, words[1:]...)
			refused := false
			for range 1 + r.IntN(3) {
				factor := 1 + r.IntN(50)
				list := r.Perm(80)[:1+r.IntN(4)]
				times, values := days(factor, list...)
				f := files(t, values, times)
				args = append(args, "t="+f[0], "time="+f[1])
				there := func(d int) bool { return model[d] > 0 }
				if refused = refused || how == "error" && slices.ContainsFunc(list, there); refused {
					continue // neither this file nor those after it
				}
				for _, d := range list {
					if how == "replace" || !there(d) {
						model[d] = factor
					}
				}
			}
			if _, errs, status := execute(t, "", args...); (status == 1) != refused || status > 1 {
				t.Fatalf("%s, round %d: %v: status %d, %s", policy, round, args, status, errs)
			}
			checkModel(t, group, fmt.Sprintf("%s, round %d", policy, round), model)
		}
	}
}

// checkModel compares a station with the factors of days.
func checkModel(t *testing.T, group, name string, model map[int]int) {
	t.Helper()
	var times []int32
	var values []int16
	for _, d := range slices.Sorted(maps.Keys(model)) {
		times, values = append(times, int32(d)), append(values, int16(model[d]*d+1), int16(model[d]*d+2))
	}
	at, err := zarr.OpenArray(t.Context(), group+"/time", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	a, err := zarr.OpenArray(t.Context(), group+"/t", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got, err := zarr.Read[int32](t.Context(), at, nil); err != nil || !slices.Equal(got.Data, times) {
		t.Fatalf("%s: days %v (%v), want %v", name, got.Data, err, times)
	}
	if got, err := zarr.Read[int16](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, values) {
		t.Fatalf("%s: values %v (%v), want %v", name, got.Data, err, values)
	}
}

// TestAppendLatePlan compares the plan of a dry run with what the command then does: the
// chunks and documents of what is appended, and those of what is inserted.
func TestAppendLatePlan(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	station(t, group, "[[1],2]")
	must(t, "", byTime(t, group, 10, "", 0, 1, 4)...)
	for _, c := range []struct {
		days       []int
		documents  string // of both arrays
		rewritten  bool
		insertions bool
	}{
		{[]int{5}, "2", false, false},  // only appended
		{[]int{2}, "2", true, true},    // only inserted
		{[]int{3, 6}, "4", true, true}, // one of each
		{[]int{3, 6}, "0", false, false},
	} {
		args := append(byTime(t, group, 10, "skip", c.days...), "--grace", "0s")
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--json" })
		plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
		if rewritten := fmt.Sprint(plan["chunks_rewritten"]) != "0"; rewritten != c.rewritten || fmt.Sprint(plan["documents_written"]) != c.documents {
			t.Errorf("%v: %v", c.days, plan)
		}
		text := must(t, "", append(args, "--dry-run")...)
		if moves := strings.Contains(text, "linked or copied"); moves != c.insertions || !strings.Contains(text, c.documents+" document") {
			t.Errorf("%v: %s", c.days, text)
		}
		done, planned := decode(t, must(t, "", append(args, "--json")...)), plan["result"].(map[string]any)
		for _, name := range []string{"appended", "inserted", "skipped"} {
			if fmt.Sprint(done[name]) != fmt.Sprint(planned[name]) {
				t.Errorf("%v: %s %v, planned were %v", c.days, name, done[name], planned[name])
			}
		}
	}
}
