// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"regexp"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// remedies replaces Go names in messages of the library by flags and commands. A limit
// without a flag is removed.
var remedies = strings.NewReplacer(
	"Limits.Chunk and Limits.Block", "--limit",
	"Limits.Chunk", "--limit",
	"Limits.Block", "--limit",
	" (Limits.Document)", "",
	"Options.Parts[", "what tasks have found [",
	" is not a result of RunPart", " is damaged: execute the tasks again",
	"was made without Options.DANDI", "was made without --dandi",
	" (Limits.InnerChunks)", "",
	" (Limits.Rank)", "",
	" (Options.Directory)", "",
	" (Options.PartSize)", "",
	" (Options.Discard)", "",
	" (Options.SharedWriters)", "",
	" (Options.SingleWriter)", "",
	" (set Options.Write)", "",
	"CreateOptions.Overwrite", "--overwrite",
	"Options.Overwrite", "--overwrite",
	"AppendOne fills", "--grow append-one fills",
	"AppendOptions.RoundUp", "--round-up",
	"ResizeOptions.RoundUp", "--round-up",
	"AppendOptions.Planes", "the number of planes",
	"grid.KeepEdges, no trim", "--shrink keep-edges, no --trim",
	"grid.TrimEdges", "--shrink trim-edges",
	"RectilinearOptions.Trim", "--trim",
	"Collector.Without", "--without",
	"copy the array (transfer.Copy), or write", "make a Zarr array of it (varve materialize), or write",
	"Addition.Alone", "--alone",
	"Group.Consolidate", "varve consolidate",
	"check.Repair", "varve check --repair",
	"SyncOptions.Delete replaces", "--delete replaces",
	"raise the limit (Options.Limits)", "raise --limit",
	"RepairOptions.Shards", "varve check --repair-shards",
	"zarr.Read reads", "varve export reads",
	"Group.Append", "append GROUP NAME=FILE …",
	"Array.Reservation", "varve reservations",
	"(convert.ConvertTo)", "(varve convert NODE DST --to 3)",
	"convert.Convert", "varve convert --to 3",
	"rechunk.Vacuum with a grace of", "varve vacuum NODE --grace",
	"(or Options.Grace)", "(or --grace)",
	"; or Options.Grace)", "; or --grace)",
	"leave out the keys (Rechunking.Keys)", "leave out --chunk-key-encoding",
	"(check.Run lists them)", "(varve check lists them)",
	"of this one (Options.Into)", "of this one (varve rechunk NODE DST)",
	"rechunk.Vacuum", "varve vacuum NODE",
	"removed by a vacuum", "removed by varve vacuum",
	"and a rechunk gives", "and varve rechunk gives",
	"make a new array of this one (Options.Into)", "make a new array of this one (varve rechunk NODE DST)",
	", with Options.SingleWriter if", ", with --single-writer if",
	"rechunk.Abandon", "varve vacuum NODE --give-up",
	"that is not allowed: allow ", "that is not allowed: give --allow ",
	"the same compact finishes", "the same varve compact finishes",
	"the same regularize finishes", "the same varve regularize finishes",
	"the same rechunk finishes", "the same varve rechunk finishes",
	"say that it has ended (Options.TakeOver)", "say that it has ended (--single-writer)",
	"say so (Options.TakeOver)", "say so (--single-writer)",
	"(Options.TakeOver)", "(if it does not: --single-writer)",
	"rechunk.Follow keeps an array that it has made", "varve rechunk --follow keeps an array that it has made",
	"rechunk.Follow", "--follow",
	"zarr.Delete", "varve rm",
	"permit listed ones (Unlock)", "--unlock permits listed ones",
	"Options.Memory of", "--memory of",
	"(Options.Memory)", "(--memory)",
	"(filter.Options.Memory)", "(--limit)",
	"the same Options.Memory, above 0", "the same --memory",
	"make a new array (Options.Into)", "make a new array (DST)",
	"another place (Options.Into)", "another place (DST)",
	"becomes a new array (Options.Into)", "becomes a new array (DST)",
	"that follows (Options.Into)", "that follows (DST)",
	"leave the region out, or", "leave --select out, or",
	"leave out Options.Into, or Options.Grace", "leave out the destination, or --grace",
	"Options.Into is for one array", "a destination is for one array",
	"Experimental.EncodedShapes", "--experimental encoded-shapes",
	"Experimental.InnerChunks", "--experimental inner-chunks",
	"let the manifest have copies of these chunks without it (Join.CopyPadded)", "copy these chunks without it (--copy-padded)",
	"(Join.Padded)", "(--experimental encoded-shapes)",
	"Options.FillAll permits it", "--yes permits it, --dry-run shows where",
	"Options.Finish", "varve check --repair",
	"Options.LeastRate permits less", "--http-timeout 0 waits for ever",
	"Options.Missing", "--missing 403",
	"Options.PrivateRedirects", "--private-redirects",
	"Options.RequireChunks", "--missing-chunks fill",
	"Options.Stall", "--http-timeout",
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

// Remedied returns a text of the library with flags and commands in place of Go names.
func Remedied(text string) string { return remedies.Replace(text) }

// suggested matches the commands that messages of the library suggest for a node.
var suggested = regexp.MustCompile(`\bvarve (vacuum|convert|rechunk) NODE\b`)

// ForNode puts the location of a node into the commands that a message suggests for it.
func ForNode(location, text string) string {
	if location == "" {
		return text
	}
	return suggested.ReplaceAllStringFunc(text, func(command string) string {
		return strings.TrimSuffix(command, "NODE") + phrase.Word(location)
	})
}

// packageName matches the name of a Go package at the beginning of a reason.
var packageName = regexp.MustCompile(`(^|[:;(] ?)((calendar|codec|dtype|file|fs|grid|http|memory|metadata|npy|rewrite|selection|store|strictjson|vfs|zip): )+`)

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
	" (import varve.dev/zarr, or register it)", "; this program does not have it",
)

// advised matches the sentinel of what exists already behind a remedy. The remedy says
// what exists, and should come last.
var advised = regexp.MustCompile(`(\b(?:replaces it|removes (?:it|them)|another (?:place|name)|that elsewhere|made in step)\)?): file already exists`)

// WithoutPackages returns a message without the names of Go's packages.
func WithoutPackages(text string) string {
	return advised.ReplaceAllString(packageName.ReplaceAllString(reworded.Replace(text), "$1"), "$1")
}
