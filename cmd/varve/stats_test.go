// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// durations matches the times in statistics, which always differ.
var durations = regexp.MustCompile(`[0-9][0-9.]*(ns|µs|ms|m[0-9.]+s|s) in `)

// statistics runs a command line with --stats. It returns the table on standard error,
// with "T" for each time.
func statistics(t *testing.T, args ...string) string {
	t.Helper()
	_, errs, status := execute(t, "", append(args, "--stats")...)
	if status != 0 {
		t.Fatalf("varve %q: status %d, %s", args, status, errs)
	}
	return durations.ReplaceAllString(strings.TrimSpace(errs), "T in ")
}

func TestStats(t *testing.T) {
	node, dir := fixture(t, "rect_months.zarr"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export", node, "-o", at("a.npy")}, `
requests     26: 25 get, 1 stat
read         9.9 KiB
decoded      24 chunks of 11.4 KiB
time         T in I/O, T in codecs`},
		{[]string{"cat", node, "--select", "0:2"}, `
requests     4: 3 get, 1 stat
read         1.6 KiB
decoded      2 chunks of 992 bytes
time         T in I/O, T in codecs`},
		{[]string{"copy", node, at("a.zarr")}, `
requests     45: 5 get, 8 stat, 4 list, 1 put, 1 put-if, 1 delete, 24 copy, 1 commit; 8 found nothing
read         4.2 KiB
written      872 bytes
copied       9.0 KiB
time         T in I/O, T in codecs`},
		{[]string{"write", node, "--value", "3", "--yes"}, `
requests     32: 2 get, 3 stat, 1 list, 24 put, 1 lock, 1 commit; 2 found nothing
read         870 bytes
written      564 bytes
encoded      24 chunks of 11.4 KiB
time         T in I/O, T in codecs`},
		{[]string{"create", at("s.zarr"), "--from", at("a.npy"), "--shards", "200", "--chunks", "10"}, `
requests     12: 6 stat, 1 list, 2 put, 1 put-if, 1 lock, 1 commit; 4 found nothing
written      23.4 KiB
encoded      37 chunks of 14.5 KiB
time         T in I/O, T in codecs`},
		{[]string{"export", at("s.zarr"), "--select", "0:300", "-o", at("b.npy")}, `
requests     7: 1 get, 2 open, 3 read, 1 stat
read         21.6 KiB
coalesced    10 ranges into 1
index cache  0 hits, 1 miss
decoded      30 chunks of 11.7 KiB
time         T in I/O, T in codecs`},
		{[]string{"append", at("s.zarr"), at("b.npy")}, ""},
		{[]string{"compact", at("s.zarr"), "--shards"}, ""},
		{[]string{"check", at("s.zarr")}, ""},
		{[]string{"convert", at("a.zarr"), at("c.zarr"), "--to", "3"}, ""},
		{[]string{"resize", at("s.zarr"), "--shape", "300,6", "--yes"}, ""},
		{[]string{"unlock", at("s.zarr")}, ""},
		{[]string{"equal", at("a.zarr"), at("c.zarr")}, ""},
	} {
		got := statistics(t, c.args...)
		if want := strings.TrimSpace(c.want); got != want && want != "" || !strings.HasPrefix(got, "requests ") || !strings.HasSuffix(got, " in codecs") {
			t.Errorf("varve %s:\n%s\nwant\n%s", c.args[0], got, c.want)
		}
	}
}

// TestStatsInJSON checks that with --json the statistics are only in the document.
func TestStatsInJSON(t *testing.T) {
	node, dir := fixture(t, "rect_months.zarr"), t.TempDir()
	members := []string{
		"bytes_copied", "bytes_decoded", "bytes_encoded", "bytes_read", "bytes_written", "bytes_written_estimate", "chunks_decoded", "chunks_encoded",
		"index_cache_hits", "index_cache_misses", "ranges_coalesced", "ranges_coalesced_into", "requests", "requests_absent",
		"requests_failed", "seconds_codecs", "seconds_io",
	}
	for _, args := range [][]string{
		{"cat", node}, {"export", node, "-o", filepath.Join(dir, "a.raw")}, {"write", node, "--value", "1", "--yes"}, {"copy", node, filepath.Join(dir, "b.zip")},
		{"equal", node, node}, {"check", node},
	} {
		plain := decode(t, must(t, "", append(args, "--json", "--stats=false")...))
		if args[0] == "copy" {
			args[2] += ".zip" // another one
		}
		full := decode(t, must(t, "", append(args, "--json", "--stats")...))
		stats, _ := full["stats"].(map[string]any)
		if got := slices.Sorted(maps.Keys(stats)); !slices.Equal(got, members) {
			t.Errorf("%s: stats has the members %q, want %q", args[0], got, members)
		}
		delete(full, "stats")
		delete(full, "destination")
		delete(plain, "destination")
		if !reflect.DeepEqual(full, plain) {
			t.Errorf("%s: the rest is %v, want %v", args[0], full, plain)
		}
	}
}

// TestStatsOfFailure checks that a failure stays one line.
func TestStatsOfFailure(t *testing.T) {
	_, errs, status := execute(t, "", "cat", t.TempDir(), "--stats")
	if status != 1 || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %q", status, errs)
	}
}
