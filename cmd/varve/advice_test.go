// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAdvice follows the advice in the messages of refused appends and resizes, and then
// repeats the command.
func TestAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		create []string // NODE is the array
		time   string   // of a coordinate beside it, "" for none
		args   string   // that are refused
		in     string
		file   string // the FILE of the advice
		leave  string // a piece of advice that is not followed
	}{
		"fixed on regular":      {create: []string{"--shape", "10", "--chunks", "4"}, args: "append NODE --grow fixed:3", in: "[1]"},
		"a plan on regular":     {create: []string{"--shape", "10", "--chunks", "4"}, args: "append NODE --grow preplanned:[3]", in: "[1]"},
		"resize of regular":     {create: []string{"--shape", "10", "--chunks", "4"}, args: "resize NODE --shape 17 --grow pattern:3,2"},
		"format 2":              {create: []string{"--shape", "10", "--chunks", "4", "--zarr-format", "2"}, args: "append NODE --grow fixed:3", in: "[1]"},
		"resize of format 2":    {create: []string{"--shape", "10", "--chunks", "4", "--zarr-format", "2"}, args: "resize NODE --shape 12 --grow fixed:3"},
		"stored on format 2":    {create: []string{"--shape", "10", "--chunks", "4", "--zarr-format", "2", "--attributes", `{"varve:growth":{"policy":"fixed:3"}}`}, args: "append NODE", in: "[1]", leave: "attrs"},
		"stored, removed":       {create: []string{"--shape", "10", "--chunks", "4", "--zarr-format", "2", "--attributes", `{"varve:growth":{"policy":"fixed:3"}}`}, args: "resize NODE --shape 12", leave: "convert unlock"},
		"stored on regular":     {create: []string{"--shape", "10", "--chunks", "4", "--attributes", `{"varve:growth":{"policy":"calendar:month","start":"2024-01-01","step":"1d"}}`}, args: "append NODE", in: "[1]", leave: "unlock"},
		"malformed":             {create: []string{"--shape", "10", "--chunks", "[[10]]", "--attributes", `{"varve:growth":{"policy":"fixed:2","axis":7}}`}, args: "append NODE", in: "[1]", leave: "set"},
		"within a month":        {create: []string{"--shape", "10", "--chunks", "[[4,6]]"}, args: "append NODE --grow calendar:month --start 2024-02-01 --step 1d", in: "[1]"},
		"within a stored month": {create: []string{"--shape", "10", "--chunks", "[[4,6]]", "--grow", "calendar:month", "--start", "2024-02-01", "--step", "1d"}, args: "append NODE", in: "[1]"},
		"beyond the extent":     {create: []string{"--shape", "10", "--chunks", "[[4,9]]"}, args: "append NODE --grow calendar:month --start 2024-02-01 --step 1d", in: "[1,2,3,4,5]"},
		"resize within a month": {create: []string{"--shape", "10", "--chunks", "[[4,6]]"}, args: "resize NODE --shape 60 --grow calendar:month --start 2024-02-01 --step 1d"},
		"unlocked and within":   {create: []string{"--shape", "10", "--chunks", "4"}, args: "append NODE --grow calendar:month --start 2024-02-01 --step 1d", in: "[1,2,3]"},
		"short times":           {create: []string{"--shape", "31", "--chunks", "[[31]]"}, time: numbers(0, 29), args: "append NODE --grow calendar:month --time time", in: "[1]", file: "[29,30]"},
		"irregular times":       {create: []string{"--shape", "3", "--chunks", "[[3]]"}, time: "[0,1,31]", args: "append NODE --grow calendar:month --time time", in: "[1]", file: "[60]"},
		"no units":              {create: []string{"--shape", "31", "--chunks", "[[31]]"}, time: numbers(0, 31), args: "append NODE --grow calendar:month --time time", in: "[1]"},
		"one time":              {create: []string{"--shape", "0", "--chunks", "[[1]]"}, time: "[5]", args: "append NODE --grow calendar:month --time time", in: "[1]"},
		"times that fall":       {create: []string{"--shape", "3", "--chunks", "[[3]]"}, time: "[0,2,1]", args: "append NODE --grow calendar:month --time time", in: "[1]"},
		"a plan that differs":   {create: []string{"--shape", "3", "--chunks", "[[3,4]]"}, args: "append NODE --grow preplanned:[2]", in: "[1,2,3]"},
	} {
		group := filepath.Join(t.TempDir(), "my g.zarr")
		node := group + "/a"
		must(t, "", append([]string{"create", node, "--dtype", "int8"}, c.create...)...)
		if c.time != "" {
			coordinateNode(t, group+"/time", strconv.Itoa(strings.Count(c.time, ",")+1), "days since 2024-01-01", c.time)
			if name == "no units" {
				must(t, "", "attrs", group+"/time", "unset", "units")
			}
		}
		args := strings.Fields(c.args)
		args[1] = node
		if args[0] == "append" {
			args = append(args, "--format", "json", "--alone")
		}
		file := filepath.Join(t.TempDir(), "values.json")
		overwrite(t, file, c.file)
		for tries := 0; ; tries++ {
			_, errs, status := execute(t, c.in, args...)
			if status == 0 {
				break
			}
			if tries == 3 {
				t.Errorf("%s: no advice helps: %s", name, errs)
				break
			}
			if args = follow(t, errs, args, c.in, strings.NewReplacer("FILE", file), strings.Fields(c.leave)); args == nil {
				break
			}
		}
	}
}

// follow follows the advice of a message. It returns the command that must work then, or
// nil if the advice already included it.
func follow(t *testing.T, errs string, args []string, in string, file *strings.Replacer, leave []string) []string {
	t.Helper()
	ran := false
	for _, m := range regexp.MustCompile(`\(varve ([^)]*)\)`).FindAllStringSubmatch(errs, -1) {
		words := shellWords(file.Replace(m[1]))
		if !slices.Contains(leave, words[0]) && !slices.Contains(leave, words[2]) {
			must(t, "", words...)
			ran = true
		}
	}
	if ran {
		return args
	}
	flags := regexp.MustCompile(`--grow [^ ,;)]+(?: --(?:start|step|calendar) [^ ,;)]+)*`).FindString(errs)
	if flags == "" {
		t.Fatalf("there is no advice: %s", errs)
	}
	instead := append(without(args, "--grow", "--time", "--start", "--step"), strings.Fields(flags)...)
	m := regexp.MustCompile(`at most (\d+) element`).FindStringSubmatch(errs)
	if m == nil {
		return instead
	}
	most, _ := strconv.Atoi(m[1])
	if args[0] == "resize" {
		instead[3] = strconv.Itoa(10 + most)
		must(t, "", instead...)
		return args
	}
	if _, errs, status := execute(t, in, instead...); status != 0 { // it notes that it differs from the stored policy
		t.Fatal(errs)
	}
	rest := most - strings.Count(in, ",") - 1
	must(t, numbers(0, rest+1), args...) // what ends the month, and one more
	return nil
}

// without returns arguments without flags and their values.
func without(args []string, flags ...string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		if slices.Contains(flags, args[i]) {
			i++
			continue
		}
		list = append(list, args[i])
	}
	return list
}
