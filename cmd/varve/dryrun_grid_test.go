// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/racing"
)

// dailyGroup makes a group with an array in months, whose coordinate grows with it.
func dailyGroup(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int32", "--dimension-names", "time", "--chunks", "calendar:month", "--start", "2024-01-01", "--step", "1d",
		"--attributes", `{"units": "days since 2024-01-01"}`)
	must(t, "", "create", group+"/t2m", "--shape", "0,2", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time",
		"--dimension-names", "time,x")
	return group
}

// dailySources makes sources with the given numbers of days, from day 0 on, in every form
// that append takes. They match PREFIX-*.
func dailySources(t *testing.T, form string, days ...int) (fields, times []string) {
	t.Helper()
	dir, first := t.TempDir(), 0
	for i, n := range days {
		var field, time []byte
		for day := first; day < first+n; day++ {
			field = append(field, byte(day), byte(day))
			time = binary.LittleEndian.AppendUint32(time, uint32(day))
		}
		first += n
		for _, s := range []struct {
			name, shape, dtype string
			raw                []byte
			list               *[]string
		}{{"field", fmt.Sprint(n, ",2"), "int8", field, &fields}, {"time", fmt.Sprint(n), "int32", time, &times}} {
			s.shape = strings.ReplaceAll(s.shape, " ", "")
			file := filepath.Join(dir, fmt.Sprintf("%s-%d.%s", s.name, i, form))
			*s.list = append(*s.list, file)
			if form == "raw" {
				overwrite(t, file, string(s.raw))
				continue
			}
			node := file
			if form == "npy" {
				node = filepath.Join(t.TempDir(), "n.zarr")
			}
			must(t, "", "create", node, "--shape", s.shape, "--dtype", s.dtype)
			must(t, string(s.raw), "write", node, "-")
			if form == "npy" {
				must(t, "", "export", node, "-o", file)
			}
		}
	}
	return fields, times
}

// age makes the files of sources a minute old. A reader reads the document again if a
// chunk is newer than two seconds, so on a slow machine a dry run could make more
// requests than the run after it.
func age(t *testing.T, sources []string) {
	t.Helper()
	old := time.Now().Add(-time.Minute)
	for _, source := range sources {
		err := filepath.WalkDir(source, func(name string, _ fs.DirEntry, err error) error {
			return cmp.Or(err, os.Chtimes(name, old, old))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDryRunGrids compares the grids in the plan of a dry run with those that the append
// then makes. Months depend on the coordinate, which grows with earlier files, also in a
// dry run that writes nothing.
func TestDryRunGrids(t *testing.T) {
	racing.Skip(t)
	calendar := []string{"--grow", "calendar:month", "--time", "time"}
	for _, form := range []string{"npy", "raw", "zarr"} {
		for _, days := range [][]int{{40}, {31, 28}, {10, 10, 45, 1, 70}} {
			fields, times := dailySources(t, form, days...)
			age(t, slices.Concat(fields, times))
			pattern := func(file string) string {
				return filepath.Join(filepath.Dir(file), strings.Split(filepath.Base(file), "-")[0]+"-*")
			}
			var named []string
			for i := range fields {
				named = append(named, "t2m="+fields[i], "time="+times[i])
			}
			for name, c := range map[string]struct {
				node string
				args []string
			}{
				"group":            {"", append(named, calendar...)},
				"group by pattern": {"", append([]string{"t2m=" + pattern(fields[0]), "time=" + pattern(times[0])}, calendar...)},
				"one array":        {"/t2m", append(append(fields, "--alone"), "--grow", "calendar:month", "--start", "2024-01-01", "--step", "1d")},
				"a coordinate":     {"/time", append(append(times, "--alone"), calendar...)},
			} {
				t.Run(fmt.Sprint(form, len(days), name), func(t *testing.T) {
					// A chunk that was written within two seconds makes a reader look at
					// the document again, so both have to be quicker than that.
					for range 5 {
						group := dailyGroup(t)
						before, begin := treeOf(t, group), time.Now()
						args := append([]string{"append", group + c.node}, c.args...)
						plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
						if treeOf(t, group) != before {
							t.Fatal("the dry run has changed something")
						}
						done := decode(t, mustStats(t, "", append(args, "--json")...))
						if time.Since(begin) < time.Second {
							comparePlan(t, plan, done)
							return
						}
					}
					t.Skip("this machine is too slow")
				})
			}
		}
	}
}

// TestDryRunFails checks the error for a file that does not fit the earlier ones. It must
// not claim that any file was appended.
func TestDryRunFails(t *testing.T) {
	group := dailyGroup(t)
	fields, times := dailySources(t, "npy", 31, 31)
	before := treeOf(t, group)
	calendar := []string{"--grow", "calendar:month", "--time", "time"}
	nonsense := files(t, "nonsense")[0]
	for name, args := range map[string][]string{
		"group":     append(calendar, group, "t2m="+fields[0], "t2m="+fields[1], "time="+times[0], "time="+times[0]),
		"one array": {group + "/t2m", fields[0], nonsense, "--alone"},
	} {
		_, errs, status := execute(t, "", append([]string{"append", "--dry-run"}, args...)...)
		if status != 1 || !strings.Contains(errs, "nothing was changed") || strings.Contains(errs, "are appended") {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
	if treeOf(t, group) != before {
		t.Error("the dry run has changed something")
	}
}

// TestDryRunReadsOtherStores reads the coordinate and the sources of a dry run from other
// stores, in which they have the same keys as the array that grows.
func TestDryRunReadsOtherStores(t *testing.T) {
	racing.Skip(t)
	fields, times := dailySources(t, "zarr", 31, 29)
	age(t, slices.Concat(fields, times))
	must(t, "", "attrs", times[0], "set", "units", `"days since 2024-01-01"`)
	node := newNode(t, "--shape", "0,2", "--dtype", "int8", "--chunks", "[[1],2]")
	args := []string{"append", node, fields[0], "--grow", "calendar:month", "--time", times[0]}
	plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
	comparePlan(t, plan, decode(t, mustStats(t, "", append(args, "--json")...)))
	// An array that is appended to itself is as long as it is by then.
	args = []string{"append", node, node, node}
	plan = decode(t, must(t, "", append(args, "--dry-run", "--json")...))
	comparePlan(t, plan, decode(t, must(t, "", append(args, "--json")...)))
}
