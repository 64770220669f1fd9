// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// aligned creates a group of a field and its coordinates, all with dimension names.
func aligned(t *testing.T, format string) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	for name, a := range map[string][2]string{"t2m": {"3,2", "time,lat"}, "time": {"3", "time"}, "lat": {"2", "lat"}, "u10": {"2,3", "lat,time"}} {
		must(t, "", "create", group+"/"+name, "--shape", a[0], "--dtype", "int8", "--dimension-names", a[1], "--zarr-format", format)
	}
	return group
}

func TestAppendAlongDimension(t *testing.T) {
	for _, format := range []string{"3", "2"} {
		group := aligned(t, format)
		f := files(t, "[[1,2]]", "[5]", "[7,8]", "[[1],[2]]")
		t2m, time, lat, u10 := "t2m="+f[0], "time="+f[1], "lat="+f[2], "u10="+f[3]
		for _, c := range []struct {
			want string
			args []string
		}{
			{`dimension "time" grows, but lat does not have it`, []string{t2m, time, lat, u10}},
			{`dimension "time" grows, but lat does not have it`, []string{lat, time, t2m}},
			{`dimension "time" grows, but lat does not have it`, []string{lat, t2m, time, "--axis", "time"}},
			{`length 4 here and 3 in u10`, []string{t2m, time}},
			{`length 4 here and 2 in t2m, u10`, []string{lat, "--axis", "lat"}},
		} {
			_, errs, status := execute(t, "", append([]string{"append", group}, c.args...)...)
			if status != 1 || !strings.Contains(errs, c.want) {
				t.Errorf("%q: status %d, %s", c.args, status, errs)
			}
		}
		// The axis of u10 is found by its name, whatever its number.
		out := must(t, "", "append", group, time, t2m, u10)
		for _, want := range []string{"/t2m  3 × 2 → 4 × 2\n", "/time  3 → 4\n", "/u10  2 × 3 → 2 × 4\n"} {
			if !strings.Contains(out, group+want) {
				t.Errorf("%s is not in %s", want, out)
			}
		}
		if out := must(t, "", "append", group, t2m, "--alone"); out != group+"/t2m  4 × 2 → 5 × 2\n" {
			t.Error(out)
		}
	}
}

// TestAlone changes single arrays of a group, which needs --alone unless all agree
// afterwards.
func TestAlone(t *testing.T) {
	group := aligned(t, "3")
	day, time := files(t, "[[1,2]]", "[5]"), group+"/time"
	for _, args := range [][]string{{"append", group + "/t2m", day[0]}, {"append", time, day[1]}, {"resize", time, "--shape", "2"}, {"resize", time, "--shape", "9"}} {
		_, errs, status := execute(t, "", args...)
		if status != 1 || !strings.HasPrefix(errs, "varve: "+args[0]+" "+args[1]+": axis 0: dimension \"time\"") || !strings.Contains(errs, "--alone") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	must(t, "", "append", group+"/t2m", day[0], "--alone")
	must(t, "", "resize", group+"/u10", "--shape", "2,4", "--alone")
	for _, args := range [][]string{{"info", group}, {"check", group}, {"check", filepath.Dir(group)}} {
		if args[0] == "check" && args[1] != group {
			must(t, "", "create", args[1], "--group")
		}
		out, _, status := execute(t, "", args...)
		if want := `dimension "time" has length 3 in time and length 4 in t2m, u10`; !strings.Contains(out, want) || status == 0 != (args[0] == "info") {
			t.Errorf("%q: status %d, %s", args, status, out)
		}
	}
	out, _, _ := execute(t, "", "check", group, "--json")
	if got := fmt.Sprint(decode(t, out)["dimensions"]); !strings.Contains(got, `"time" has length 3`) {
		t.Error(got)
	}
	must(t, "", "append", time, day[1]) // and all agree
	must(t, "", "check", group)
	if out := must(t, "", "info", group); strings.Contains(out, "length") {
		t.Error(out)
	}
}
