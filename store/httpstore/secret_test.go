// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"context"
	"strings"
	"testing"

	"varve.dev/zarr/internal/driver"
)

// TestConcealBucket checks that the options of a bucket are not shown, and apply to all
// locations in it and to no other.
func TestConcealBucket(t *testing.T) {
	ctx, shown := driver.Conceal(context.Background(), "s3://b/a b.zarr/x?secret=1")
	if shown != "s3://b/a b.zarr/x" {
		t.Errorf("it shows %q", shown)
	}
	ctx, _ = driver.Conceal(ctx, "gs://b/y?project=2")
	for location, want := range map[string]string{
		shown:             "s3://b/a b.zarr/x?secret=1",
		"s3://b/other":    "s3://b/other?secret=1",
		"s3://b":          "s3://b?secret=1",
		"s3://b/x?anon=1": "s3://b/x?anon=1",
		"s3://bb/x":       "s3://bb/x",
		"gs://b/z":        "gs://b/z?project=2",
		"http://b/z":      "http://b/z",
		"file:///b":       "file:///b",
	} {
		if got := driver.Reveal(ctx, location); got != want {
			t.Errorf("%q stands for %q, want %q", location, got, want)
		}
	}
	if _, shown := driver.Conceal(ctx, "s3://b/plain"); shown != "s3://b/plain" {
		t.Errorf("a location without options is shown as %q", shown)
	}
}

// TestConcealContainers checks that each of two containers of one account keeps its
// options.
func TestConcealContainers(t *testing.T) {
	ctx := context.Background()
	for _, location := range []string{
		"az://a/c1/x?sas_token=1", "az://a/c2/y?sas_token=2", "az://a/c1/x/z?sas_token=3", "s3://b/p?endpoint=4", "s3://b/q/?endpoint=5",
	} {
		ctx, _ = driver.Conceal(ctx, location)
	}
	for location, want := range map[string]string{
		"az://a/c1/x":   "sas_token=1",
		"az://a/c1/x/t": "sas_token=1",
		"az://a/c2/y":   "sas_token=2",
		"az://a/c2":     "sas_token=2",
		"az://a/c2/yy":  "sas_token=2",
		"az://a/c1/x/z": "sas_token=3",
		"s3://b/p":      "endpoint=4",
		"s3://b/q/t":    "endpoint=5",
		"s3://b/other":  "endpoint=5",
	} {
		if got := driver.Reveal(ctx, location); got != location+"?"+want {
			t.Errorf("%q stands for %q, want the options %q", location, got, want)
		}
	}
}

// TestConcealRepository conceals locations in repositories, and reveals those of their
// stores and of other nodes.
func TestConcealRepository(t *testing.T) {
	for _, c := range []struct{ location, shown, store, other, revealed string }{
		{"icechunk+s3://b/r@main/a?k=1", "icechunk+s3://b/r@main/a", "s3://b/r?k=1", "icechunk+s3://b/r@tag:v/b", "icechunk+s3://b/r@tag:v/b?k=1"},
		{"icechunk+s3://b/r?k=1", "icechunk+s3://b/r", "s3://b/r?k=1", "icechunk+s3://b/r@main/a", "icechunk+s3://b/r@main/a?k=1"},
		{"icechunk+https://u:p@h/r@main/a?k=1", "icechunk+https://h/r@main/a", "https://u:p@h/r?k=1", "icechunk+https://h/r@main/b", "icechunk+https://u:p@h/r@main/b?k=1"},
		{"icechunk+https://u:p@h", "icechunk+https://h", "https://u:p@h", "icechunk+https://h", "icechunk+https://u:p@h"},
		{"icechunk+file:///r@main/a", "icechunk+file:///r@main/a", "file:///r", "icechunk+file:///r@main", "icechunk+file:///r@main"},
	} {
		ctx, shown := driver.Conceal(t.Context(), c.location)
		if shown != c.shown {
			t.Errorf("%s is shown as %s, want %s", c.location, shown, c.shown)
		}
		plain, _, _ := strings.Cut(strings.TrimPrefix(shown, "icechunk+"), "@")
		if got := driver.Reveal(ctx, plain); got != c.store {
			t.Errorf("%s: the store is opened with %s, want %s", c.location, got, c.store)
		}
		if got := driver.Reveal(ctx, c.other); got != c.revealed {
			t.Errorf("%s: %s is revealed as %s, want %s", c.location, c.other, got, c.revealed)
		}
	}
}

// TestConcealRepositories checks that what a location with icechunk+ hides applies to its
// repository, which is opened by the location without icechunk+ and a branch.
func TestConcealRepositories(t *testing.T) {
	ctx := context.Background()
	for location, want := range map[string]string{
		"icechunk+s3://b/r@main/a?endpoint=1":             "icechunk+s3://b/r@main/a",
		"icechunk+s3://c?endpoint=2":                      "icechunk+s3://c",
		"icechunk+az://a/box/r%40x@tag:v/a?account_key=3": "icechunk+az://a/box/r%40x@tag:v/a",
		"icechunk+https://u:p@h:1/r@main/a?token=4":       "icechunk+https://h:1/r@main/a",
		"icechunk+http://i/%40r@main?token=5":             "icechunk+http://i/%40r@main",
		"icechunk+https://j?token=6":                      "icechunk+https://j",
		"icechunk+file:///r@main/a":                       "icechunk+file:///r@main/a",
		"icechunk+gs://b/r@main/a":                        "icechunk+gs://b/r@main/a",
		"icechunk+r@main":                                 "icechunk+r@main",
	} {
		var shown string
		if ctx, shown = driver.Conceal(ctx, location); shown != want {
			t.Errorf("%q is shown as %q, want %q", location, shown, want)
		}
	}
	for location, want := range map[string]string{
		"s3://b/r":                           "s3://b/r?endpoint=1",
		"s3://b/data.nc":                     "s3://b/data.nc?endpoint=1",
		"icechunk+s3://b/r@v2/x":             "icechunk+s3://b/r@v2/x?endpoint=1",
		"icechunk+s3://b/r@main/x?anon=true": "icechunk+s3://b/r@main/x?anon=true",
		"s3://c/":                            "s3://c/?endpoint=2",
		"az://a/box/r@x":                     "az://a/box/r@x?account_key=3",
		"az://other/box/r":                   "az://other/box/r",
		"https://h:1/r":                      "https://u:p@h:1/r?token=4",
		"https://h:1/r/":                     "https://u:p@h:1/r/?token=4",
		"icechunk+https://h:1/r@v2/x":        "icechunk+https://u:p@h:1/r@v2/x?token=4",
		"https://h:1/r2":                     "https://h:1/r2",
		"https://h/r":                        "https://h/r",
		"http://i/@r":                        "http://i/@r?token=5",
		"https://j/":                         "https://j/?token=6",
		"file:///r":                          "file:///r",
		"gs://b/r":                           "gs://b/r",
	} {
		if got := driver.Reveal(ctx, location); got != want {
			t.Errorf("%q stands for %q, want %q", location, got, want)
		}
	}
}
