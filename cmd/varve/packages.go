package main

import (
	"regexp"
	"strings"
)

// packageName finds the name of a Go package that a reason of the library begins with.
var packageName = regexp.MustCompile(`(^|[:;(] ?)((calendar|codec|dtype|file|fs|grid|http|memory|metadata|npy|rewrite|selection|store|strictjson|vfs|zip): )+`)

// reworded are beginnings of reasons that say no more than that something is wrong, or
// mean something to programs in Go alone.
var reworded = strings.NewReplacer(
	": invalid argument: 1 dimension names for", ": 1 dimension name for",
	": invalid argument: ", ": ",
	"calendar: invalid: ", "",
	"dtype: invalid: ", "",
	"grid: invalid chunk grid: shrink policy", "shrink policy",
	"grid: invalid chunk grid: trim-exact", "trim-exact",
	"npy: invalid file", "invalid .npy file",
	"selection: invalid selection: index", "out of range: index",
	"selection: invalid selection: ", "",
	"--overwrite replaces it): file already exists", "--overwrite replaces it)",
	" 1 axes", " 1 axis",
	`locking "__varve.lock": permission denied`, "no permission to write there",
	" (import its package or register it)", "; this program does not have it",
)

// withoutPackages returns a message without the names of Go's packages.
func withoutPackages(text string) string {
	return packageName.ReplaceAllString(reworded.Replace(text), "$1")
}
