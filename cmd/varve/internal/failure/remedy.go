// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/remedy"
)

// remedies puts flags and commands in the place of what the library suggests
// ([remedy]). Of two that begin at one place the longer one stands first.
var remedies = strings.NewReplacer(
	remedy.LimitsChunkAndBlock, "--limit",
	remedy.LimitsChunk, "--limit",
	remedy.LimitsBlock, "--limit",
	remedy.LimitsDocument, "",
	remedy.LimitsInnerChunks, "",
	remedy.LimitsRank, "",
	remedy.Directory, "",
	remedy.Discard, "",
	remedy.SharedWriters, "",
	remedy.Write, "",
	remedy.Parts, "what tasks have found [",
	remedy.NoResult, " is damaged: execute the tasks again",
	remedy.DANDI, "--dandi",
	remedy.CreateOverwrite, "--overwrite",
	remedy.Overwrite, "--overwrite",
	remedy.AppendRoundUp, "--round-up",
	remedy.ResizeRoundUp, "--round-up",
	remedy.Planes, "the number of planes",
	remedy.KeepEdges, "--shrink keep-edges, no --trim",
	remedy.AppendOne, "--grow append-one",
	remedy.TrimEdges, "--shrink trim-edges",
	remedy.Trim, "--trim",
	remedy.Without, "--without",
	remedy.CopyArray, "make a Zarr array of it (varve materialize)",
	remedy.CopyArchive, "copy the archive to a folder (varve copy)",
	remedy.Alone, "--alone",
	remedy.Consolidate, "varve consolidate",
	remedy.Repair, "varve check --repair",
	remedy.SyncDelete, "--delete",
	remedy.RaiseLimit, "raise --limit",
	remedy.RepairShards, "varve check --repair-shards",
	remedy.Read, "varve export",
	remedy.CreateGroup, "varve create --group",
	remedy.GroupAppend, "append GROUP NAME=FILE …",
	remedy.Reservation, "varve reservations",
	remedy.ConvertTo, "varve convert NODE DST --to 3",
	remedy.Convert, "varve convert --to 3",
	remedy.VacuumGrace, "varve vacuum NODE --grace",
	remedy.Vacuum, "varve vacuum NODE",
	remedy.Grace, "--grace",
	remedy.LeaveOutKeys, "leave out --chunk-key-encoding",
	remedy.CheckRun, "varve check",
	remedy.NewArray, "make a new array of this one (varve rechunk NODE DST)",
	remedy.IntoPlace, "(DST)",
	remedy.LeaveOutInto, "leave out the destination",
	remedy.Into, "a destination",
	remedy.SingleWriter, "--single-writer",
	remedy.Rechunk, "varve rechunk",
	remedy.Abandon, "varve vacuum NODE --give-up",
	remedy.Allow, "give --allow",
	remedy.TakeOver, "--single-writer",
	remedy.Follow, "varve rechunk --follow",
	remedy.Delete, "varve rm",
	remedy.Unlock, "--unlock permits listed ones",
	remedy.FilterMemory, "--limit",
	remedy.KeepNone, "--print keeps none",
	remedy.SameMemory, "the same --memory",
	remedy.Memory, "--memory",
	remedy.LeaveOutRegion, "leave --select out",
	remedy.EncodedShapes, "--experimental encoded-shapes",
	remedy.InnerChunks, "--experimental inner-chunks",
	remedy.CopyPadded, "copy these chunks without it (--copy-padded)",
	remedy.CollectorCopyPadded, "--copy-padded",
	remedy.Padded, "--experimental encoded-shapes",
	remedy.FillAll, "--yes permits it, --dry-run shows where",
	remedy.Finish, "varve check --repair",
	remedy.LeastRate, "--http-timeout 0 waits for ever",
	remedy.Missing, "--missing 403",
	remedy.PrivateRedirects, "--private-redirects",
	remedy.RequireChunks, "--missing-chunks fill",
	remedy.Stall, "--http-timeout",
	remedy.AsJSON, "--format json",
	remedy.AsRaw, "--format raw",
	remedy.Decode, "--decode",
	remedy.Header, "--header",
	remedy.SelectPart, "select a part (--select)",
	remedy.Register, "; this program does not have it",
	" (Options.PartSize)", "", // of package s3
)

// OneLine returns the message of an error as one line in the words of the command. Joined
// errors are separated by semicolons.
func OneLine(err error) string {
	return OneLineOf("", err)
}

// OneLineOf is [OneLine] for an error of a node that the error does not name.
func OneLineOf(location string, err error) string {
	return WithoutPackages(Remedied(aboutSource(location, err, strings.ReplaceAll(err.Error(), "\n", "; "))))
}

// allowed matches a place that a message says to allow, as Go quotes it.
var allowed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--allow ("(?:[^"\\]|\\.)*")`) })

// Remedied returns a text of the library with flags and commands in place of Go names,
// and the value of a flag as a shell takes it.
func Remedied(text string) string {
	return allowed().ReplaceAllStringFunc(remedies.Replace(text), func(flag string) string {
		place, err := strconv.Unquote(strings.TrimPrefix(flag, "--allow "))
		if err != nil {
			return flag
		}
		return "--allow " + phrase.Word(place)
	})
}

// suggested matches the commands that messages of the library suggest for a node.
var suggested = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bvarve (vacuum|convert|rechunk) NODE\b`) })

// ForNode puts the location of a node into the commands that a message suggests for it.
func ForNode(location, text string) string {
	if location == "" {
		return text
	}
	return suggested().ReplaceAllStringFunc(text, func(command string) string {
		return strings.TrimSuffix(command, "NODE") + phrase.Word(location)
	})
}

// packageName matches the name of a Go package at the beginning of a reason.
var packageName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[:;(] ?)((codec|dtype|file|fs|http|memory|metadata|npy|store|vfs|zip): )+`)
})

// reworded replaces beginnings of reasons that have no information, or that only Go
// programs understand.
var reworded = strings.NewReplacer(
	": invalid argument: ", ": ",
	"invalid time or calendar: ", "",
	"invalid data type or fill value: ", "",
	"invalid chunk grid: shrink policy", "shrink policy",
	"invalid chunk grid: trim-exact", "trim-exact",
	"invalid selection: index", "out of range: index",
	"invalid selection: ", "",
	": file already exists: a zip archive", ": the file exists, and a zip archive",
	`locking "__varve.lock": permission denied`, "no permission to write there",
)

// advised matches the sentinel of what exists already behind a remedy. The remedy says
// what exists, and should come last.
var advised = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\b(?:replaces it|removes (?:it|them)|another (?:place|name)|that elsewhere|made in step)\)?): file already exists`)
})

// WithoutPackages returns a message without the names of Go's packages.
func WithoutPackages(text string) string {
	return advised().ReplaceAllString(packageName().ReplaceAllString(reworded.Replace(text), "$1"), "$1")
}
