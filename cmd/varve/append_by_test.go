// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// station creates a group with a field and its times, in chunks of the given lengths.
func station(t *testing.T, group, chunks string) {
	t.Helper()
	must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int32", "--chunks", "3", "--attributes", `{"units": "days since 2023-01-01"}`, "--dimension-names", "time")
	must(t, "", "create", group+"/t", "--shape", "0,2", "--dtype", "int16", "--chunks", chunks, "--dimension-names", "time,x")
}

// days returns JSON of days, and of values that are the days times a factor.
func days(factor int, list ...int) (times, values string) {
	var a, b []string
	for _, d := range list {
		a, b = append(a, fmt.Sprint(d)), append(b, fmt.Sprintf("[%d,%d]", factor*d+1, factor*d+2))
	}
	return "[" + strings.Join(a, ",") + "]", "[" + strings.Join(b, ",") + "]"
}

// byTime returns the arguments that append days to a station.
func byTime(t *testing.T, group string, factor int, how string, list ...int) []string {
	t.Helper()
	times, values := days(factor, list...)
	f := files(t, values, times)
	args := []string{"append", group, "t=" + f[0], "time=" + f[1], "--by", "time", "--json"}
	if how != "" {
		args = append(args, "--on-duplicate", how)
	}
	return args
}

// values returns the times and the values of a station.
func valuesOf(t *testing.T, group string) string {
	t.Helper()
	return must(t, "", "export", group+"/time", "--format", "json") + must(t, "", "export", group+"/t", "--format", "json")
}

// TestAppendBy appends days that are there, new, late, or to be written into free cells.
func TestAppendBy(t *testing.T) {
	for _, chunks := range []string{"3,2", "[[1],1]"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		station(t, group, chunks)
		for i, c := range []struct {
			how    string
			factor int
			days   []int
			counts string // "" for an error
			want   []int  // days, and below them their factors
			by     []int
		}{
			{"", 10, []int{1, 0, 2}, "3 0 0 0 0", []int{0, 1, 2}, []int{10, 10, 10}},
			{"", 10, []int{2, 3}, "", []int{0, 1, 2}, []int{10, 10, 10}},
			{"skip", 20, []int{2, 3}, "1 0 0 0 1", []int{0, 1, 2, 3}, []int{10, 10, 10, 20}},
			{"skip", 20, []int{2, 3}, "0 0 0 0 2", []int{0, 1, 2, 3}, []int{10, 10, 10, 20}},
			{"replace", 30, []int{1, 6, 0}, "1 0 0 2 0", []int{0, 1, 2, 3, 6}, []int{30, 30, 10, 20, 30}},
			{"skip", 40, []int{5, 7}, "1 1 0 0 0", []int{0, 1, 2, 3, 5, 6, 7}, []int{30, 30, 10, 20, 40, 30, 40}}, // 5 is late
			{"replace", 50, []int{5, 4}, "0 1 0 1 0", []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{30, 30, 10, 20, 50, 50, 30, 40}},
			{"", 60, []int{4, 8}, "", []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{30, 30, 10, 20, 50, 50, 30, 40}},
		} {
			out, errs, status := execute(t, "", byTime(t, group, c.factor, c.how, c.days...)...)
			if (status == 0) != (c.counts != "") {
				t.Fatalf("%d: status %d, %s", i, status, errs)
			}
			if c.counts != "" {
				got := decode(t, out)
				if is := countsOf(got); is != c.counts {
					t.Errorf("%d: %s, want %s", i, is, c.counts)
				}
			}
			var times, values []string
			for k, d := range c.want {
				times, values = append(times, fmt.Sprint(d)), append(values, fmt.Sprintf("[%d,%d]", c.by[k]*d+1, c.by[k]*d+2))
			}
			want := "[" + strings.Join(times, ",") + "]\n[" + strings.Join(values, ",") + "]\n"
			if got := valuesOf(t, group); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
		_, errs, _ := execute(t, "", byTime(t, group, 1, "", 2)...)
		if facts, _ := decode(t, errs)["error"].(map[string]any); facts["kind"] != "conflict" || !strings.Contains(errs, "from index 2 (2023-01-03) on: --on-duplicate skip") {
			t.Error(errs)
		}
	}
}

// countsOf returns the counts in the result of an append.
func countsOf(facts map[string]any) string {
	return fmt.Sprint(facts["appended"], facts["inserted"], facts["filled"], facts["replaced"], facts["skipped"])
}

// TestAppendByFills writes days into cells that a resize has made, in any order.
func TestAppendByFills(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	station(t, group, "3,2")
	must(t, "", byTime(t, group, 10, "", 0, 1)...)
	if _, errs, status := execute(t, "", "resize", group, "time=5"); status != 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		day    int
		counts string
	}{{4, "0 1 0"}, {2, "0 1 0"}, {2, "0 0 1"}, {5, "1 0 0"}, {3, "0 1 0"}} {
		got := decode(t, must(t, "", byTime(t, group, 10, "skip", c.day)...))
		if is := fmt.Sprint(got["appended"], got["filled"], got["skipped"]); is != c.counts {
			t.Errorf("day %d: %s, want %s", c.day, is, c.counts)
		}
	}
	times, values := days(10, 0, 1, 2, 3, 4, 5)
	if got := valuesOf(t, group); got != times+"\n"+values+"\n" {
		t.Error(got)
	}
}

// TestAppendByOfArrays appends single arrays: a coordinate by itself, text, and an array
// that comes with its coordinate.
func TestAppendByOfArrays(t *testing.T) {
	dir := t.TempDir()
	here, day := filepath.Join(dir, "here.zarr"), filepath.Join(dir, "day.zarr")
	station(t, here, "3,2")
	station(t, day, "3,2")
	must(t, "", byTime(t, here, 10, "", 0, 1)...)
	must(t, "", byTime(t, day, 10, "", 1, 2)...)
	skip := []string{"--by", "time", "--on-duplicate", "skip"}
	if _, errs, status := execute(t, "", append([]string{"append", here + "/t", day + "/t"}, skip...)...); status != 1 || !strings.Contains(errs, "append to the group, with time=FILE") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", append([]string{"append", here + "/time", day + "/time", "--alone"}, skip...)...)
	for _, want := range []string{"2 × 2 → 3 × 2\n  1 appended, 1 skipped\n", "3 × 2 → 3 × 2\n  0 appended, 2 skipped\n"} {
		if got := must(t, "", append([]string{"append", here + "/t", day + "/t"}, skip...)...); got != here+"/t  "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	times, values := days(10, 0, 1, 2)
	if got := valuesOf(t, here); got != times+"\n"+values+"\n" {
		t.Error(got)
	}
	// What comes late into the middle has no place in an array whose coordinate lacks it.
	gap := filepath.Join(dir, "gap.zarr")
	station(t, gap, "3,2")
	must(t, "", byTime(t, gap, 10, "", 0, 2)...)
	if _, errs, status := execute(t, "", append([]string{"append", gap + "/t", day + "/t"}, skip...)...); status != 1 || !strings.Contains(errs, "1 value that "+gap+"/time does not have: append to the group") {
		t.Errorf("status %d, %s", status, errs)
	}
	names := filepath.Join(dir, "names.zarr")
	must(t, "", "create", names, "--shape", "0", "--dtype", "string", "--chunks", "2", "--dimension-names", "names")
	for _, list := range []string{`["b","a"]`, `["a","c"]`, `["a","c"]`} {
		must(t, list, append([]string{"append", names, "--format", "json", "--by", "names.zarr"}, skip[2:]...)...)
	}
	if got := must(t, "", "export", names, "--format", "json"); got != `["b","a","c"]`+"\n" {
		t.Error(got)
	}
	for want, args := range map[string][]string{
		"has no coordinate":    {"append", here + "/t", files(t, "[[1,2]]")[0], "--by", "time"},
		"time=FILE is missing": {"append", here, "t=" + files(t, "[[1,2]]")[0], "--by", "time"},
		"exclude each other":   {"append", here + "/t", "-", "--by", "time", "--expect", "3,2"},
		"is for --by":          {"append", here + "/t", "-", "--on-duplicate", "skip"},
		"twice":                byTime(t, here, 10, "", 7, 7),
		"would grow by 2 in t": {"append", here, "--alone", "t=" + files(t, "[[1,2],[3,4]]")[0], "time=" + files(t, "[9]")[0], "--by", "time"},
	} {
		if _, errs, status := execute(t, "", args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d, %s, want %q", args, status, errs, want)
		}
	}
}

// TestAppendForeign appends files of another format to an archive: each counts time from
// another day, and the archive in other units and in another type.
func TestAppendForeign(t *testing.T) {
	dir := foreign(t, "epochs_days_*.nc")
	t.Chdir(dir)
	begin := func() {
		if err := os.RemoveAll("a.zarr"); err != nil {
			t.Fatal(err)
		}
		must(t, "", "create", "a.zarr/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--dimension-names", "time",
			"--attributes", `{"units": "hours since 2000-01-01"}`)
		must(t, "", "create", "a.zarr/t", "--shape", "0,4,5", "--dtype", "float32", "--chunks", "calendar:month", "--time", "time", "--grow", "calendar:month",
			"--dimension-names", "time,y,x")
	}
	must(t, "", "virtualize", "epochs_days_0[123].nc", "--concat", "time", "-o", "all.vz")
	// What the manifest shows is what has to be in the archive, in its units.
	want := must(t, "", "export", "all.vz/t", "--format", "json")
	times := strings.ReplaceAll(must(t, "", "export", "all.vz/time", "--decode", "--format", "json"), ".000000", "")
	for name, lines := range map[string][]string{
		"files":      {"append a.zarr epochs_days_01.nc", "append a.zarr epochs_days_0[123].nc --by time --on-duplicate skip"},
		"names":      {"append a.zarr t=epochs_days_01.nc time=epochs_days_01.nc", "append a.zarr t=epochs_days_0[23].nc time=epochs_days_0[23].nc"},
		"with a dot": {"append a.zarr t=./epochs_days_01.nc/t time=.//epochs_days_01.nc", "append a.zarr ./epochs_days_0[23].nc"},
		"manifest":   {"append a.zarr all.vz"},
		"of a store": {"append a.zarr t=all.vz/t time=all.vz/time"},
		"one by one": {"append a.zarr/time epochs_days_0[123].nc --alone --by time", "append a.zarr/t epochs_days_0[123].nc --alone --by time", "append a.zarr/t epochs_days_02.nc --by time --on-duplicate skip"},
		"inserted":   {"append a.zarr epochs_days_03.nc", "insert a.zarr --axis time --at 0 t=epochs_days_0[12].nc time=epochs_days_0[12].nc --unlock"},
		"written":    {"append a.zarr all.vz", "write a.zarr/t --value 0 --yes", "write a.zarr/t all.vz/t", "write a.zarr/time --select 0:31 epochs_days_01.nc"},
	} {
		begin()
		for _, line := range lines {
			must(t, "", strings.Fields(line)...)
		}
		if got := must(t, "", "export", "a.zarr/t", "--format", "json"); got != want {
			t.Errorf("%s: other elements", name)
		}
		if got := must(t, "", "export", "a.zarr/time", "--decode", "--format", "json"); got != times {
			t.Errorf("%s: times %s, want %s", name, got, times)
		}
	}
	must(t, "", "create", "new.zarr", "--from", "epochs_days_01.nc/time")
	if got := must(t, "", "cat", "new.zarr"); got != must(t, "", "cat", "all.vz/time", "--select", ":31") {
		t.Error(got)
	}
	begin()
	must(t, "", "create", "days.zarr/time", "--shape", "0", "--dtype", "int8", "--chunks", "100", "--dimension-names", "time", "--attributes", `{"units": "days since 1900-01-01"}`)
	must(t, "", "create", "other.zarr/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--dimension-names", "time", "--attributes", `{"units": "days since 1900-01-01", "calendar": "360_day"}`)
	// The number of one of the times stands for no value in this archive.
	hours := func(name, more string) {
		must(t, "", "create", name+"/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--dimension-names", "time", "--attributes", `{"units": "hours since 2000-01-01"`+more+`}`)
	}
	hours("hours.zarr", "")
	must(t, "", "append", "hours.zarr/time", "epochs_days_01.nc")
	hours("gap.zarr", `, "_FillValue": `+strings.TrimSpace(must(t, "", "export", "hours.zarr/time", "--select", "2:3", "--format", "csv")))
	for line, words := range map[string]string{
		"append gap.zarr/time epochs_days_01.nc":            "stands for no value here",
		"append a.zarr/t epochs_days_01.nc/nothere --alone": "open epochs_days_01.nc/nothere: no Zarr node here (epochs_days_01.nc has t, time)",
		"append days.zarr/time epochs_days_01.nc":           "cannot be stored here",
		"append other.zarr/time epochs_days_01.nc":          "float64",
		"append a.zarr":                          "name the arrays that grow",
		"append a.zarr nothere.nc":               "nothere.nc: there is no such file or group",
		"append a.zarr epochs_days_01.nc no.nc":  "no.nc: there is no such file or group",
		"create x.zarr --from epochs_days_01.nc": "several arrays",
	} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 1 || !strings.Contains(errs, words) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}

// TestAppendCalendars appends times of another calendar: of those that agree, or not at
// all. A time that the place cannot hold is an error.
func TestAppendCalendars(t *testing.T) {
	for _, c := range []struct{ dtype, units, calendar, into, as, value, want string }{
		{"int64", "days since 2023-01-01", "proleptic_gregorian", "hours since 2023-01-01", "standard", "[1]", "[24]"},
		{"float64", "hours since 2023-01-01", "gregorian", "days since 2022-12-31", "proleptic_gregorian", "[48]", "[3]"},
		{"int16", "days since 2023-01-01", "noleap", "days since 2022-12-31", "365_day", "[1]", "[2]"},
		{"int64", "days since 1500-01-01", "proleptic_gregorian", "hours since 2023-01-01", "standard", "[1]", "differ before 1582-10-15"},
		{"int64", "hours since 2023-01-01", "standard", "days since 2023-01-01", "standard", "[25]", "cannot be stored here"},
		{"int64", "hours since 2023-01-01", "standard", "days since 2023-01-01", "noleap", "[24]", "of type int64, the array int32"},
	} {
		dir := t.TempDir()
		src, dst := filepath.Join(dir, "a.zarr", "time"), filepath.Join(dir, "b.zarr", "time")
		attributes := `{"units": "%s", "calendar": "%s"}`
		must(t, "", "create", src, "--shape", "1", "--dtype", c.dtype, "--dimension-names", "time", "--attributes", fmt.Sprintf(attributes, c.units, c.calendar))
		must(t, c.value, "write", src, "--format", "json")
		must(t, "", "create", dst, "--shape", "0", "--dtype", "int32", "--chunks", "4", "--dimension-names", "time", "--attributes", fmt.Sprintf(attributes, c.into, c.as))
		_, errs, status := execute(t, "", "append", dst, src)
		if got := strings.TrimSpace(must(t, "", "export", dst, "--format", "json")); got != c.want && (status == 0 || !strings.Contains(errs, c.want)) {
			t.Errorf("%s, %s as %s, %s: status %d, %s, %s", c.units, c.calendar, c.into, c.as, status, got, errs)
		}
	}
}

// TestAppendByTogether appends the same days by several commands at once, new ones and
// late ones. There is one copy of each.
func TestAppendByTogether(t *testing.T) {
	for name, group := range map[string]string{"files": filepath.Join(t.TempDir(), "g.zarr"), "no locks": "mortal://g", "locks": "mortal://g"} {
		mortals = &mortal{below: memtest.New(), left: -1, locks: name == "locks"}
		station(t, group, "[[1],2]")
		var wg sync.WaitGroup
		for k := range 3 {
			wg.Go(func() {
				for _, day := range []int{2, 8, 5, 6} {
					var out, errs bytes.Buffer
					args := append(byTime(t, group, 10, "skip", day, day+1), "--grace", "0s")
					status := run(t.Context(), args, console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
					// A command waits for one of another process if there are locks.
					// Otherwise nothing tells one that runs from one that was killed.
					said := out.String()
					busy := status == 1 && (strings.Contains(said, "another call of this process runs") || name == "no locks" && strings.Contains(said, "which may still run"))
					if status != 0 && !busy {
						t.Errorf("%s, %d: status %d, %s%s", name, k, status, errs.String(), said)
					}
				}
			})
		}
		wg.Wait()
		must(t, "", append(byTime(t, group, 10, "skip", 2, 3, 8, 9, 5, 6, 7), "--grace", "0s", "--single-writer")...)
		times, values := days(10, 2, 3, 5, 6, 7, 8, 9)
		if got := valuesOf(t, group); got != times+"\n"+values+"\n" {
			t.Error(name, got)
		}
	}
}

// TestAppendByCrash stops the command at every change that it makes to a store, before it
// or after it, and repeats it. The result is that of a command that was not stopped.
func TestAppendByCrash(t *testing.T) {
	racing.Skip(t)
	for _, how := range []string{"skip", "replace"} {
		for _, chunks := range []string{"3,1", "[[1],2]"} {
			testCrashes(t, fmt.Sprint(how, " ", chunks), func(group string) ([]string, []int) {
				station(t, group, chunks)
				must(t, "", byTime(t, group, 10, "", 0, 1)...)
				if _, errs, status := execute(t, "", "resize", group, "time=4"); status != 0 {
					t.Fatal(errs)
				}
				return byTime(t, group, 20, how, 1, 2, 3, 4, 5), []int{0, 1, 2, 3, 4, 5}
			})
			if late := (how == "skip") == (chunks == "3,1"); !late {
				continue
			}
			testCrashes(t, fmt.Sprint("late ", how, " ", chunks), func(group string) ([]string, []int) {
				station(t, group, chunks)
				must(t, "", byTime(t, group, 10, "", 1, 4)...)
				// Two late days of different files, one that is there, and a new one.
				args := append(byTime(t, group, 20, how, 3, 7), byTime(t, group, 20, how, 4, 0)[2:4]...)
				return append(args, "--single-writer"), []int{0, 1, 3, 4, 7}
			})
		}
	}
}

// testCrashes stops a command at every change that it makes to a station, and repeats it.
// begin makes the station, and returns the command and the days that it leads to.
func testCrashes(t *testing.T, name string, begin func(group string) ([]string, []int)) {
	t.Helper()
	want := ""
	for left := -1; ; left++ {
		crashed := false
		for _, late := range []bool{false, true} {
			m := &mortal{below: memtest.New(), left: -1, late: late}
			mortals = m
			args, list := begin("mortal://g")
			m.revive(left)
			_, _, status := execute(t, "", args...)
			m.revive(-1)
			must(t, "", args...)
			got := valuesOf(t, "mortal://g")
			if want == "" {
				want = got
				if times, _ := days(0, list...); !strings.HasPrefix(want, times+"\n") {
					t.Fatalf("%s: %s", name, want)
				}
			}
			if got != want {
				t.Fatalf("%s: stopped at change %d, late %v: %s, want %s", name, left, late, got, want)
			}
			crashed = crashed || status != 0
		}
		if left > 0 && !crashed {
			return
		}
	}
}

// mortal is a store without locks whose client dies after some changes: all of its
// requests then fail. The last change is made, if it dies late.
type mortal struct {
	below memtest.Store
	late  bool
	locks bool

	mu   sync.Mutex
	left int // changes before death; -1 for eternal life
	dead bool
}

// mortals is the store of the scheme mortal://.
var mortals *mortal

func init() {
	store.Register("mortal", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		p, err := store.ParsePath(strings.TrimPrefix(location, "mortal://"))
		if mortals.locks {
			return locked{mortals}, p, err
		}
		return mortals, p, err
	})
}

// locked is a store with locks.
type locked struct{ *mortal }

func (l locked) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	return l.below.Lock(ctx, dir)
}

func (l locked) LockHolder(dir store.Path) store.Holder { return l.below.LockHolder(dir) }

var errDead = errors.New("the client is dead")

func (m *mortal) revive(left int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.dead = left, false
}

// alive returns an error after death.
func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

// change makes a change, or dies before or after it.
func (m *mortal) change(make func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.left == 0 && !m.late {
		m.dead = true
		return errDead
	}
	err := make()
	if m.dead = m.left == 0; m.dead {
		return errDead
	}
	m.left = max(-1, m.left-1)
	return err
}

func (m *mortal) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := m.alive(); err != nil {
		return nil, store.Info{}, err
	}
	return m.below.Get(ctx, key, q, dst)
}

func (m *mortal) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	if err := m.alive(); err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return m.below.List(ctx, dir, how)
}

func (m *mortal) Can(op store.Op) bool { return op <= store.OpDeleteIf && m.below.Can(op) }

func (m *mortal) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	err = m.change(func() (err error) { made, err = m.below.Write(ctx, c, d); return err })
	return made, err
}

// TestAppendByOutOfOrder refuses new times where the present ones are in no order, and
// says which. Times that are there, and numbers that are names, need no order.
func TestAppendByOutOfOrder(t *testing.T) {
	const days = `{"units": "days since 2024-01-01"}`
	for name, c := range map[string]struct {
		dtype, attributes, stored, more, how string
		want                                 string // "" if it succeeds
	}{
		"turns back":          {"int32", days, "[5,6,3,9]", "[7]", "error", "element 2 is 2024-01-04, but element 1 before it is 2024-01-07"},
		"after all":           {"float64", days, "[5,6,3,9]", "[12]", "error", "element 2 is 2024-01-04"},
		"twice":               {"int64", days, "[5,5]", "[7]", "error", "element 1 is 2024-01-06, but element 0 before it is 2024-01-06"},
		"twice at the end":    {"int16", days, "[9,5,5]", "[3]", "error", "element 2 is 2024-01-06"},
		"moments":             {"M8[D]", "{}", `["2024-01-03","2024-01-01","2024-01-02"]`, `["2024-01-04"]`, "error", "element 2 is 2024-01-02, but element 1 before it is 2024-01-01"},
		"some are there":      {"int32", days, "[5,6,3,9]", "[6,7]", "skip", "element 2 is 2024-01-04"},
		"all are there":       {"int32", days, "[5,6,3,9]", "[9,3]", "skip", ""},
		"numbers of stations": {"int32", "{}", "[5,6,3,9]", "[7]", "error", ""},
		"numbers twice":       {"int32", "{}", "[5,5,3]", "[7]", "error", ""},
		"spans":               {"m8[D]", "{}", "[5,3,4]", "[7]", "error", ""},
		"texts":               {"string", "{}", `["b","a","c"]`, `["aa"]`, "error", ""},
	} {
		node := filepath.Join(t.TempDir(), "g.zarr", "t")
		n := strings.Count(c.stored, ",") + 1
		must(t, "", "create", node, "--shape", fmt.Sprint(n), "--dtype", c.dtype, "--dimension-names", "t", "--attributes", c.attributes)
		must(t, c.stored, "write", node, "--format", "json")
		before := treeOf(t, node)
		_, errs, status := execute(t, c.more, "append", node, "--by", "t", "--format", "json", "--on-duplicate", c.how)
		if (status == 0) != (c.want == "") || c.want != "" && (!strings.Contains(errs, c.want) || !strings.Contains(errs, "varve drop") || treeOf(t, node) != before) {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
	// The advice works: what was out of order is inserted where it belongs.
	node := filepath.Join(t.TempDir(), "g.zarr", "t")
	must(t, "", "create", node, "--shape", "4", "--dtype", "int32", "--chunks", "[[2,2]]", "--dimension-names", "t", "--attributes", days)
	must(t, "[5,6,3,9]", "write", node, "--format", "json")
	must(t, "", "drop", node, "--axis", "t", "--range", "2:3", "--yes")
	must(t, "[7,3]", "append", node, "--by", "t", "--format", "json")
	if got := must(t, "", "export", node, "--format", "json"); got != "[3,5,6,7,9]\n" {
		t.Error(got)
	}
}
