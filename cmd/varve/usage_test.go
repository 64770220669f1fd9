// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"weak"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/inspecting"
)

func TestUsageErrors(t *testing.T) {
	type usage struct {
		args []string
		want string // part of the message
	}
	group := fixture(t, "group_consolidated.zarr")
	create := func(flag, value string) usage {
		return usage{[]string{"create", "a", "--shape", "10", "--dtype", "int8", flag, value}, flag}
	}
	for _, c := range []usage{
		{[]string{"bogus"}, `no command "bogus"`},
		{[]string{"inf"}, "did you mean info"},
		{[]string{"help", "nonsense"}, `no command or topic "nonsense"`},
		{[]string{"help", "selct"}, "did you mean select?"},
		{[]string{"help", "info", "more"}, `or topic "info more"`},
		{[]string{"growth"}, "varve help growth explains the topic"},
		{[]string{"info"}, "NODE is missing"},
		{[]string{"info", "a", "b"}, `unexpected argument "b"`},
		{[]string{"info", "--nope", "a"}, "unknown flag: --nope"},
		{[]string{"grid", "a", "--svg", ""}, "the name of a file is missing"},
		{[]string{"equal", "a"}, "B is missing"},
		{[]string{"resize", "a"}, "--shape is missing"},
		{[]string{"create", "a", "--shape", "3"}, "--dtype is missing"},
		{[]string{"create", "a", "--dtype", "int8"}, "--shape is missing"},
		{[]string{"create", "a", "--shape", "3", "--from", "x.npy"}, "shape"},
		{[]string{"create", "a", "--codecs", `["bytes"]`, "--compressor", "none"}, "--codecs and --compressor exclude each other"},
		{[]string{"write", "a", "b", "--value", "1"}, "exclude each other"},
		{[]string{"append", "a", "b", "c=d"}, `unexpected argument "c=d"`},
		{[]string{"append", "a", "-", "-"}, "standard input can be given only once"},
		{[]string{"append", "a", "[x"}, "not a pattern of file names"},
		{[]string{"append", "a", "b=x", "c"}, `unexpected argument "c"`},
		{[]string{"append", group, "one=a.npy", "/one/=b.npy", "two=c.npy"}, "one gets 2 files and two gets 1"},
		{[]string{"append", group, "one=-", "deep/two=-"}, "only one file can be standard input"},
		{[]string{"append", group, "=a.npy"}, "name of an array is missing"},
		{[]string{"append", group, "one="}, "name of a file is missing"},
		{[]string{"append", group, "one=a", "--expect", "1,2"}, "the length of the axis"},
		{[]string{"export", "a", "--format", "xml"}, `"xml"`},
		{[]string{"attrs", "a", "frob"}, "is not get, set or unset"},
		{[]string{"attrs", "a", "set", "k"}, "JSON is missing"},
		{[]string{"conformance"}, "--array_path is missing"},
		{[]string{"rm", group}, "--yes"},
		{[]string{"resize", "a", "--shape", "-1,2"}, `"-1"`},
		{[]string{"resize", "a", "--shape", "abc"}, `"abc"`},
		{[]string{"resize", "a", "--shape", "1,2", "--shrink", "some"}, `"some"`},
		{[]string{"append", "a", "--grow", "fast"}, `"fast"`},
		{[]string{"append", "a", "--grow", "fixed:"}, `"fixed:"`},
		{[]string{"append", "a", "--grow", "fixed:0"}, `"fixed:0"`},
		{[]string{"append", "a", "--grow", "pattern:31,-1"}, "-1"},
		{[]string{"append", "a", "--grow", "preplanned:[]"}, `"preplanned:[]"`},
		{[]string{"append", "a", "--grow", "calendar:week"}, "use month or year"},
		{[]string{"append", "a", "--grow", "calendar:month"}, "--time COORD"},
		{[]string{"append", "a", "--grow", "calendar:month", "--time", ""}, "name of a coordinate"},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "2020-01-01"}, "--step is missing"},
		{[]string{"append", "a", "--grow", "calendar:month", "--step", "1d"}, "--start is missing"},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "2020-02-30", "--step", "1d"}, "2020-02-30"},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "2020-02-01", "--step", "1m"}, "write min for minutes or mo for months"},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "2020-02-01", "--step", "1d", "--calendar", "maya"}, "maya"},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "2020-02-01", "--time", "time"}, "--time excludes --start"},
		{[]string{"append", "a", "--time", "time"}, "--time is only for --grow calendar:month"},
		{[]string{"unlock", "a", "--axis", "0,99999999999999999999"}, `"99999999999999999999" is not a whole number`},
		{[]string{"info", "a", "--experimental", "warp"}, "is not one of encoded-shapes and inner-chunks"},
		{[]string{"info", "a", "--experimental", "inner-chunks,"}, "is not one of encoded-shapes and inner-chunks"},
		{[]string{"create", "a", "--shape", "3", "--dtype", "int8", "--chunks", `{"name":`}, "--chunks"},
		{[]string{"consolidate"}, "GROUP is missing"},
		{[]string{"compact", "--shards"}, "NODE is missing"},
		{[]string{"unlock"}, "NODE is missing"},
		{[]string{"append", "a", "--expect", "1,x"}, `"x"`},
		{[]string{"append", "a", "--axis", ""}, "give the number or the name of an axis"},
		{[]string{"append", "a", "--axis", "99999999999999999999"}, `"99999999999999999999" is not a whole number`},
		{[]string{"resize", "a", "--shape", "3", "--step", "1d"}, "--step is only for --grow calendar:month"},
		{[]string{"attrs", "a", "set", "units", "K"}, "not JSON"},
		{[]string{"create", "a", "--group", "--attributes", "[]"}, "--attributes"},
		{[]string{"create", "a", "--group", "--dtype", "int8"}, "--group and --dtype exclude each other"},
		{[]string{"create", "a", "--group", "--from", "x.npy"}, "--from and --group exclude each other"},
		create("--dtype", "r12"), create("--shape", "1,x"), create("--shape", "1,"), create("--shape", "9223372036854775808"),
		create("--codecs", "{}"), create("--codecs", "[]"), create("--codecs", `["bytes", 5]`),
		create("--compressor", "lz4"), create("--compressor", "zstd:x"), create("--chunk-key-encoding", "v3/"), create("--chunk-key-encoding", "v3"),
		create("--chunks", "[2"), create("--chunks", "{}"), create("--chunks", "many"), create("--chunks", ""), create("--chunks", "calendar:"),
		create("--chunks", "calendar:week"), create("--chunks", "groups:"), create("--chunks", `["weeks"]`), create("--chunks", `["groups:"]`),
		{[]string{"create", "a", "--shape", "10", "--dtype", "int8", "--chunks", "8Mi"}, "it must be auto, a size such as 8MiB"},
		create("--chunks", "0B"), create("--chunks", "99999EiB"), create("--chunks", "8 parsec"), create("--chunks", "bounded:"), create("--chunks", "bounded:x"),
		create("--chunks", "calendar:month"), create("--time", "time"), create("--step", "1d"),
		create("--shards", ""), create("--shards", "many"), create("--shards", "calendar:month"), create("--index-location", "start"),
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "3", "--index-location", "middle"}, "it must be start or end"},
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "3", "--chunks", "groups:x"}, "with --shards these are inner chunks"},
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "3", "--chunks", "bounded:3"}, "with --shards these are inner chunks"},
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "auto", "--chunks", `{"name":"regular","configuration":{"chunk_shape":[3]}}`}, "inner chunks"},
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "1MiB", "--chunks", "8MiB"}, "are larger than --shards"},
		{[]string{"create", "a", "--shape", "9", "--dtype", "int8", "--shards", "3", "--time", "t"}, "--time is only for --shards calendar:month"},
		{[]string{"plan"}, "--shape is missing"},
		{[]string{"plan", "--shape", "5"}, "--dtype is missing"},
		{[]string{"plan", "--shape", "5", "--dtype", "int8", "--target", "8"}, "as 8MiB"},
		{[]string{"plan", "--shape", "5", "--dtype", "int8", "--chunks", "calendar:month"}, "a size such as 256KiB"},
		{[]string{"plan", "--shape", "5", "--dtype", "int8", "--chunks", "8MiB", "--target", "1MiB"}, "is larger than --target"},
		{[]string{"plan", "a"}, `unexpected argument "a"`},
		create("--zarr-format", "7"), create("--attributes", "{"),
		{[]string{"create", "a", "--shape", "1", "--dtype", "int8", "--zarr-format", "2", "--chunk-key-encoding", "default/"}, "v2. and v2/"},
		{[]string{"cat", "a", "--select", `{"points": [[1]`}, "--select"},
		{[]string{"cat", "a", "--select", `{"pionts": [[1]]}`}, `"pionts" is no way to select`},
		{[]string{"cat", "a", "--select", `{"basic": "x"}`}, `"x" is no index`},
		{[]string{"cat", "a", "--select", "a"}, `"a" is no index`},
		{[]string{"cat", "a", "--select", "99999999999999999999"}, "64 bits"},
		{[]string{"cat", "a", "--select", `{"bogus": 1}`}, "blocks, mask and fields"},
		{[]string{"cat", "a", "--select", "0:5:0"}, "a step of 0"},
		{[]string{"cat", "a", "--select", "1, t=::-00 "}, "a step of 0"},
		{[]string{"cat", "a", "--select", `{"basic": "::0"}`}, "a step of 0"},
		{[]string{"cat", "a", "--select", "1:2:3:4"}, `"1:2:3:4"`},
		{[]string{"cat", "a", "--select", "1,,2"}, `""`},
		{[]string{"cat", "a", "--select", "[0,2,5],0,0"}, `lists are written in JSON, an entry an axis, as {"orthogonal": [[0, 2, 5], 0, "1:3"]}`},
		{[]string{"cat", "a", "--select", "0, np.newaxis"}, "leave None and newaxis out"},
		{[]string{"cat", "a", "--select", "slice(0, 3),0"}, "did you mean 0:3,0?"},
		{[]string{"cat", "a", "--select", ","}, "an item is empty"},
		{[]string{"cat", "a", "--select", "time=0", "--select", "lat=0"}, "--select: it is given twice, but takes one value: separate items by commas"},
		{[]string{"write", "a", "--format", "xml"}, `"xml"`},
		{[]string{"write", "a", "--format", "csv"}, "it must be raw, npy or json"},
		{[]string{"append", "a", "--format", "xml"}, `"xml"`},
		{[]string{"grid", "a", "--locate", "a"}, `"a"`},
		{[]string{"grid", "a", "--axes", "1,"}, "give the number or the name of an axis"},
		{[]string{"grid", "a", "--axes", "x,x"}, "two different axes"},
		{[]string{"create", "a", "--dtype", "int8", "--shape", "10,10", "--chunks", "5", "5"}, "did you mean --chunks 5,5?"},
		{[]string{"create", "a", "--shape", "10", "10", "10", "--dtype", "int8"}, "did you mean --shape 10,10,10?"},
		{[]string{"create", "a", "--shape=9,9", "--dimension-names=lat,", "lon"}, "did you mean --dimension-names lat,lon?"},
		{[]string{"cat", "a", "--select", "0", "-1"}, "did you mean --select -1?"},
		{[]string{"info", "a", "--json=yes"}, `"yes" is neither true nor false; --json alone is true`},
		{[]string{"resize", "a", "--shape", "3", "--yes=no"}, `"no" is neither true nor false`},
		{[]string{"create", "a", "--zarr-format", "v2"}, "2 and 3 are known (did you mean 2?)"},
		{[]string{"write", "a", "-1"}, "did you mean --value -1?"},
		{[]string{"attrs", "a", "set", "offset", "-x"}, "unknown shorthand flag"},
		{[]string{"create", "a", "--shape", "3", "--shape", "4"}, "--shape: it is given twice"},
		{[]string{"write", "a", "--value", "3", "--value=4"}, "--value: it is given twice"},
		{[]string{"export", "a", "-o", "x.npy", "-o", "y.npy"}, "--output: it is given twice"},
		{[]string{"export", "a", "-o", ""}, "the name of a file is missing: is a shell variable not set?"},
		{[]string{"create", "a", "--from", ""}, "the name of a file is missing"},
		{[]string{"create", "a", "--shape", "3", "--dtype", ""}, "the name of a type is missing"},
		{[]string{"demo", "d", "--from", ""}, "the location of a node is missing"},
		{[]string{"reservations", "a", "--publish", ""}, "the ID of a reservation is missing"},
		{[]string{"write", "a", ""}, "FILE is empty"},
		{[]string{"append", "a", ""}, "FILE is empty"},
		{[]string{"append", "a", "x.npy", ""}, "FILE is empty"},
		{[]string{"copy", "a", ""}, "DST is empty"},
		create("--dimension-names", `["x"]`), create("--dimension-names", "'x'"),
		{[]string{"create", "a", "--dimension-names", `["time", "lat"]`}, "write names without brackets and quotes (did you mean time,lat?)"},
		{[]string{"create", "a", "--dims", "x"}, "did you mean --dimension-names?"},
		{[]string{"create", "a", "--dimension_names", "x"}, "did you mean --dimension-names?"},
		{[]string{"create", "a", "--fill_value", "0"}, "did you mean --fill?"},
		{[]string{"create", "a", "--attrs", "{}"}, "did you mean --attributes?"},
		{[]string{"create", "a", "--format", "2"}, "did you mean --zarr-format?"},
		{[]string{"create", "a", "--data-type", "int8"}, "did you mean --dtype?"},
		{[]string{"create", "a", "--order", "F"}, "the codec transpose"},
		{[]string{"create", "a", "--dimension-separator", "/"}, "--chunk-key-encoding includes the separator"},
		{[]string{"era5.zarr/t2m"}, "did you mean varve info era5.zarr/t2m?"},
		{[]string{"create", "a", "--chunks", `{"time":5}`}, "give lengths in the order of the axes and without names, such as 10,20"},
		{[]string{"create", "a", "--chunks", "time=5, lat=6"}, "without names: did you mean 5,6?"},
		{[]string{"create", "a", "--codecs", "zstd"}, "did you mean --compressor zstd?"},
		{[]string{"create", "a", "--codecs", "blosc"}, `write a list, as '["bytes","zstd"]'`},
		{[]string{"grid", "--shape", "9,9", "--chunk-grid", "3,3"}, `did you mean '{"name":"regular","configuration":{"chunk_shape":[3,3]}}'?`},
		{[]string{"grid", "--shape", "9", "--chunk-grid", "regular"}, `write the whole object, as '{"name":"regular"`},
		{[]string{"append", "a", "--grow", "calendar:month", "--start", "01.02.2020", "--step", "1d"}, "write dates as 2024-12-25"},
		{[]string{"export", "a", "-o", "out.zarr"}, "varve copy NODE out.zarr"},
		{[]string{"attrs", "a", "set", "varve:growth", `{"policy":"calender:month"}`}, "did you mean calendar:month?"},
		{[]string{"create", "a", "--shape", "3", "--dtype", "int8", "--attributes", `{"varve:growth":{"policy":"fixd:3"}}`}, "did you mean fixed:3?"},
		{[]string{"completion", "nosh"}, `"nosh"; there are bash, fish, powershell, zsh`},
		{[]string{"completion", "tcsh"}, `no completion script for "tcsh"`},
		{[]string{"completion", "basj"}, "(did you mean bash?)"},
		{[]string{"completion", "bash", "zsh"}, `unexpected argument "zsh"`},
		{[]string{"completion", "bash", "more"}, `"more"`},
	} {
		out, errs, status := execute(t, "", c.args...)
		if status != 2 || out != "" || !strings.HasPrefix(errs, "varve: ") || !strings.Contains(errs, c.want) || !strings.Contains(errs, "--help' for usage.") {
			t.Errorf("%q: status %d, %q, %q", c.args, status, out, errs)
		}
	}
}

// TestFailures checks the message, the status and the kind of failures of well-formed
// command lines.
func TestFailures(t *testing.T) {
	array := fixture(t, "rect_2d.zarr")
	group := fixture(t, "group_consolidated.zarr")
	parent := t.TempDir()
	absent := filepath.Join(parent, "absent")
	regular := newNode(t, "--shape", "0", "--dtype", "int8", "--chunks", "[3]")
	must(t, "", "resize", regular, "--shape", "1")
	planned := newNode(t, "--shape", "1", "--dtype", "int8", "--chunks", "[[3,4]]")
	create := func(more ...string) []string {
		return append([]string{"create", absent, "--shape", "10", "--dtype", "int8"}, more...)
	}
	for _, c := range []struct {
		args       []string
		kind, want string
	}{
		{[]string{"info", absent}, "not-found", "absent"},
		{[]string{"info", filepath.Dir(absent)}, "not-found", "no Zarr node"},
		{[]string{"cat", group}, "invalid-argument", "it is a group"},
		{[]string{"cat", array, "--select", "60"}, "invalid-argument", "axis 0"},
		{[]string{"cat", array, "--select", "1,2,3"}, "invalid-argument", "3 axes"},
		{[]string{"cat", array, "--select", "x=1"}, "invalid-argument", `"x"`},
		{[]string{"cat", array, "--select", `{"blocks": ["99"]}`}, "invalid-argument", "99"},
		{[]string{"cat", array, "--select", `{"points": [[1], [2], [3]]}`}, "invalid-argument", "3"},
		{[]string{"cat", array, "--select", `{"fields": ["x"]}`}, "invalid-argument", "no field"},
		{[]string{"cat", array, "--select", `{"mask": "nowhere.npy"}`}, "not-found", "nowhere.npy"},
		{[]string{"cat", array, "--select", `{"basic": "t=1"}`}, "invalid-argument", "no names"},
		{[]string{"write", array, absent}, "not-found", "absent"},
		{[]string{"write", array, "--value", "1.5"}, "invalid-argument", "1.5"},
		{[]string{"write", array, "-"}, "invalid-argument", "ends after 0 bytes"},
		{[]string{"append", group, "one=a.npy", "none=b.npy"}, "not-found", "none"},
		{[]string{"append", group, "none=b.npy"}, "not-found", "none"},
		{[]string{"append", group, "deep=b.npy"}, "invalid-argument", "it is a group"},
		{[]string{"append", group, "one=-", "--axis", "2"}, "invalid-argument", "axis 2"},
		{[]string{"append", array, "one=a.npy", "two=b.npy"}, "invalid-argument", "NAME=FILE"},
		{[]string{"append", array, "one=a.npy"}, "not-found", "one=a.npy"},
		{[]string{"append", absent, "one=a.npy"}, "not-found", "absent"},
		{[]string{"append", array, "--axis", "2"}, "invalid-argument", "axis 2"},
		{[]string{"append", array, "--axis", "-3"}, "invalid-argument", "axis"},
		{[]string{"append", array}, "invalid-argument", "no values were given"},
		{[]string{"grid", array, "--axes", "2"}, "invalid-argument", "the array has 2 axes"},
		{[]string{"resize", array, "--shape", "1"}, "invalid-argument", "shape"},
		{[]string{"resize", regular, "--shape", "2", "--grow", "fixed:5"}, "invalid-argument", "unlock"},
		{[]string{"resize", regular, "--shape", "2", "--grow", "calendar:year", "--start", "2000-01-01", "--step", "1d"}, "invalid-argument", "unlock"},
		{[]string{"resize", regular, "--shape", "1", "--shrink", "trim-exact"}, "invalid-argument", "unlock"},
		{[]string{"resize", array, "--shape", "99,100", "--grow", "preplanned:[30]"}, "invalid-argument", "9 elements before the extent"},
		{[]string{"resize", planned, "--shape", "2", "--grow", "preplanned:[3,3]"}, "invalid-argument", "contradicts"},
		{[]string{"resize", array, "--shape", "99,100", "--grow", "calendar:month", "--time", "nowhere"}, "not-found", "nowhere"},
		{[]string{"resize", array, "--shape", "99,100", "--grow", "calendar:month", "--start", "2000-01-02", "--step", "1d"}, "invalid-argument", "end at element 60"},
		{[]string{"resize", array, "--shape", "99,100", "--expect", "60,99"}, "conflict", "[60 100]"},
		{[]string{"unlock", array, "--axis", "2"}, "invalid-argument", "axis 2"},
		{[]string{"unlock", array, "--axis", "-3"}, "invalid-argument", "axis -3"},
		{[]string{"unlock", group, "--axis", "x"}, "invalid-argument", "no array of the group has an axis x"},
		{[]string{"consolidate", array}, "invalid-argument", "it is an array"},
		{[]string{"compact", array, "--to", "[3,3]"}, "invalid-argument", "axis 0"},
		{[]string{"revert", array}, "conflict", "no rechunk to revert"},
		{[]string{"regularize", absent}, "not-found", "absent"},
		{[]string{"compact", "--shards", array}, "unsupported", "not shards"},
		{[]string{"compact", "--shards", "--dry-run", array}, "unsupported", "not shards"},
		{[]string{"compact", "--shards", group}, "invalid-argument", "it is a group"},
		{[]string{"compact", "--shards", absent}, "not-found", "absent"},
		{[]string{"consolidate", absent}, "not-found", "absent"},
		{[]string{"unlock", absent}, "not-found", "absent"},
		{[]string{"attrs", array, "get", "units"}, "not-found", `"units"`},
		{[]string{"attrs", array, "unset", "units"}, "not-found", `"units"`},
		{[]string{"rm", "--yes", absent}, "not-found", "absent"},
		{[]string{"equal", array, absent}, "not-found", "absent"},
		{[]string{"conformance", "--array_path", absent}, "not-found", "absent"},
		{[]string{"create", array, "--shape", "1", "--dtype", "int8"}, "exists", "rect_2d.zarr"},
		{[]string{"create", absent, "--shape", "1", "--dtype", "decimal128"}, "unsupported", "decimal128"},
		{create("--shards", "5", "--chunks", "3"), "invalid-argument", "shards of 3 or 6 would do, or inner chunks of 1 or 5"},
		{create("--shards", "5", "--chunks", "10"), "invalid-argument", "shards of 10 would do"},
		{create("--shards", "[[4,6]]", "--chunks", "4"), "invalid-argument", "shard 1 is stored with 6 elements"},
		{create("--shards", "5", "--chunks", "[[2,3]]"), "unsupported", "--experimental inner-chunks"},
		{create("--shards", "5", "--chunks", "[[2,2]]", "--experimental", "inner-chunks"), "invalid-argument", "4 elements together"},
		{create("--shards", "[[4,6]]", "--chunks", "[[2,3]]", "--experimental", "inner-chunks"), "invalid-argument", "shards of one length"},
		{create("--shards", "auto", "--chunks", "[[5,5]]", "--experimental", "inner-chunks"), "invalid-argument", "axis 0: it is a list"},
		{create("--shards", "5", "--chunks", "[5,5]"), "invalid-argument", "axis 1"},
		{create("--shards", "5", "--chunks", "0"), "invalid-argument", "--chunks 0"},
		{create("--shards", "[0]"), "invalid-argument", "--shards [0]"},
		{create("--zarr-format", "2", "--chunks", "[[4,6]]"), "unsupported", "format 2"},
		{[]string{"create", absent, "--shape", "10", "--zarr-format", "2", "--dtype", "bfloat16"}, "unsupported", "bfloat16"},
		{create("--chunks", "calendar:month", "--time", "nowhere"), "not-found", "nowhere"},
		{create("--chunks", "groups:"+absent), "not-found", "absent"},
		{create("--chunks", "groups:"+filepath.Join(array, "zarr.json")), "invalid-argument", "every element needs one"},
		{create("--chunks", "bounded:[[5,5]]"), "invalid-argument", "axis 0"},
		{create("--chunks", `["calendar:month", 5]`, "--start", "2020-01-01", "--step", "1d"), "invalid-argument", "2 entries for 1 axis"},
		{create("--chunks", "[[3,4]]"), "invalid-argument", "axis 0"},
		{create("--chunks", "[0]"), "invalid-argument", "--chunks"},
		{create("--fill", "300"), "invalid-argument", "--fill 300"},
		{create("--codecs", `["bytes", "lzma"]`), "unsupported", "lzma"},
		{create("--dimension-names", "a,b"), "invalid-argument", "names"},
	} {
		out, errs, status := execute(t, "", c.args...)
		if status != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "varve: ") || !strings.Contains(errs, c.want) || !named(errs, array, group, parent, regular, planned, filepath.Dir(array)) {
			t.Errorf("%q: status %d, %q, %q", c.args, status, out, errs)
		}
		out, errs, status = execute(t, "", append(c.args, "--json")...)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		if status != 1 || out != "" || facts["kind"] != c.kind {
			t.Errorf("%q --json: status %d, %q, %s, want kind %s", c.args, status, out, errs, c.kind)
		}
		if op, _ := facts["op"].(string); op == "" || facts["path"] == nil {
			t.Errorf("%q --json: %s does not say where", c.args, errs)
		}
		for _, member := range []string{"message", "kind", "op", "path", "key", "chunk", "axis"} {
			if _, ok := facts[member]; !ok {
				t.Errorf("%q --json: %s has no member %q", c.args, errs, member)
			}
		}
	}
}

// named reports whether a message names one of some nodes.
func named(message string, nodes ...string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return strings.Contains(message, n) })
}

func TestFailureTellsWhere(t *testing.T) {
	array := fixture(t, "rect_2d.zarr")
	_, errs, _ := execute(t, "", "cat", "--json", array, "--select", "0,100")
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if facts["axis"] != 1.0 || facts["path"] != array || facts["key"] != nil || facts["chunk"] != nil {
		t.Error(errs)
	}
	chunk := filepath.Join(array, "c", "2", "3")
	overwrite(t, chunk, "no zstd frame")
	_, errs, status := execute(t, "", "cat", "--json", array)
	facts, _ = decode(t, errs)["error"].(map[string]any)
	if status != 1 || facts["kind"] != "corrupt" || facts["key"] != "c/2/3" || len(facts["chunk"].([]any)) != 2 {
		t.Error(errs)
	}
}

// broken is a stream that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestOutputThatFails(t *testing.T) {
	for err, want := range map[error]int{syscall.EPIPE: 141, syscall.ENOSPC: 1} {
		var errs bytes.Buffer
		status := run(t.Context(), []string{"cat", "testdata/rect_2d.zarr"}, console.Streams{In: strings.NewReader(""), Out: broken{err}, Err: &errs})
		if status != want || want == 141 && errs.Len() > 0 || want == 1 && !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: status %d, %s", err, status, errs.String())
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	status := run(ctx, []string{"cat", "testdata/rect_2d.zarr", "--json"}, console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	facts, _ := decode(t, errs.String())["error"].(map[string]any)
	if status != 1 || facts["kind"] != "canceled" {
		t.Errorf("status %d, %s", status, errs.String())
	}
	errs.Reset()
	status = run(ctx, []string{"cat", "testdata/rect_2d.zarr"}, console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	if want := "varve: interrupted: open testdata/rect_2d.zarr\n"; status != 1 || errs.String() != want {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

func TestSentence(t *testing.T) {
	wrap := func(err error) error { return &zarr.Error{Op: "write", Path: "a.zarr", Axis: -1, Err: err} }
	canceled, incomplete := wrap(context.Canceled), wrap(fmt.Errorf("%w: %w", zarr.ErrIncomplete, context.Canceled))
	for _, c := range []struct {
		err  error
		want string
	}{
		{canceled, "interrupted: write a.zarr"},
		{failure.Leftover(canceled, "it was deleted"), "interrupted: write a.zarr; it was deleted"},
		{context.Canceled, "interrupted: cat"},
		{failure.Leftover(context.Canceled, "it was deleted"), "interrupted: cat; it was deleted"},
		{incomplete, incomplete.Error() + "; the change is visible and must not be repeated"},
		{wrap(fmt.Errorf("%w: %w", zarr.ErrDecided, context.Canceled)), "interrupted: write a.zarr: " + zarr.ErrDecided.Error() + "; do not repeat the change"},
		{failure.Leftover(wrap(io.ErrNoProgress), "it was deleted"), wrap(io.ErrNoProgress).Error() + "; it was deleted"},
	} {
		cmd := inspecting.NewCat()
		ctx, cancel := context.WithCancel(t.Context())
		cmd.SetContext(ctx)
		cancel()
		if got := sentence(cmd, c.err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	cmd := inspecting.NewCat()
	cmd.SetContext(t.Context())
	if got := sentence(cmd, canceled); strings.Contains(got, "interrupted") {
		t.Errorf("nobody interrupted the command, and it says %q", got)
	}
}

// TestHelp checks that every command explains itself.
func TestHelp(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Example == "" {
			t.Errorf("%s: %q, %q", c.Name(), c.Short, c.Example)
		}
		out := must(t, "", c.Name(), "--help")
		if !strings.Contains(out, "varve "+c.Name()) {
			t.Error(out)
		}
	}
	if out := must(t, ""); !strings.Contains(out, "Grow and cut:") {
		t.Error(out)
	}
}

func TestVersion(t *testing.T) {
	if out := must(t, "", "version"); !strings.HasPrefix(out, "varve ") {
		t.Error(out)
	}
	facts := decode(t, must(t, "", "version", "--json"))
	if _, ok := facts["commit"]; facts["version"] == "" || facts["go"] == nil || !ok {
		t.Error(facts)
	}
	if out := must(t, "", "--version"); out != must(t, "", "version") {
		t.Error(out)
	}
	if out := decode(t, must(t, "", "--version", "--json")); out["go"] != facts["go"] {
		t.Error(out)
	}
	if _, _, status := execute(t, "", "info", "--version"); status != 2 {
		t.Error("status", status)
	}
}

func TestCompletion(t *testing.T) {
	group := fixture(t, "group_consolidated.zarr")
	out, _, status := execute(t, "", "__complete", "info", group+"/o")
	if status != 0 || !strings.HasPrefix(out, group+"/one\n") {
		t.Errorf("status %d, %q", status, out)
	}
	if out := must(t, "", "completion", "bash"); !strings.Contains(out, "varve") {
		t.Error("no script")
	}
	var errs bytes.Buffer
	status = run(t.Context(), []string{"completion", "bash"}, console.Streams{In: strings.NewReader(""), Out: broken{syscall.ENOSPC}, Err: &errs})
	if status != 1 || !strings.Contains(errs.String(), "no space left") || strings.Contains(errs.String(), "--help") {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

// TestDamagedChunk checks the advice about a chunk that does not decode.
func TestDamagedChunk(t *testing.T) {
	dir := t.TempDir()
	sound, bad := filepath.Join(dir, "sound.zarr"), filepath.Join(dir, "bad one.zarr")
	for _, a := range []string{sound, bad} {
		createNoted(t, a, "--shape", "4", "--chunks", "2", "--dtype", "int32")
		must(t, "", "write", a, "--value", "7")
	}
	if err := os.WriteFile(filepath.Join(bad, "c", "1"), []byte("xx"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cat", bad}, {"export", bad}, {"equal", sound, bad}, {"append", sound, bad}} {
		_, errs, status := execute(t, "", args...)
		if status != 1 || !strings.Contains(errs, "varve check '"+bad+"' lists all damaged chunks") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}

// TestHelpOfNoCommand asks for the help of a command that does not exist.
func TestHelpOfNoCommand(t *testing.T) {
	for _, args := range [][]string{{"nosuch", "--help"}, {"nosuch", "x", "-h"}, {"cp", "--help"}, {"nosuch", "--json", "--help"}} {
		out, errs, status := execute(t, "", args...)
		if status != 2 || out != "" || !strings.Contains(errs, "there is no command") {
			t.Errorf("%s: status %d, %s%s", args, status, out, errs)
		}
	}
	for _, args := range [][]string{{"--help"}, {"info", "--help"}, {"help", "--help"}, {"completion", "bash", "--help"}} {
		must(t, "", args...)
	}
	if _, errs, status := execute(t, "", "virtualize", "g.zarr"); status != 2 || !strings.Contains(errs, "-o OUT is missing") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestCommandsAreFreed checks that nothing keeps the commands of a command line, of which
// a program or a test may execute thousands.
func TestCommandsAreFreed(t *testing.T) {
	root := weak.Make(newRoot())
	runtime.GC()
	if root.Value() != nil {
		t.Error("the commands stay in memory")
	}
}
