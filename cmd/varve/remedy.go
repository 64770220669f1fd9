package main

import "strings"

// remedies replaces the names of Go that the library's messages advise by flags and
// commands. A limit that no flag raises is left out.
var remedies = strings.NewReplacer(
	"Limits.Chunk and Limits.Block", "--limit",
	"Limits.Chunk", "--limit",
	"Limits.Block", "--limit",
	" (Limits.Document)", "",
	" (Limits.InnerChunks)", "",
	" (Limits.Rank)", "",
	" (Options.Directory)", "",
	" (Options.Discard)", "",
	" (Options.SharedWriters)", "",
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
	"Addition.Alone", "--alone",
	"Group.Consolidate", "varve consolidate",
	"Group.Append", "append GROUP NAME=FILE …",
	"Array.Reservation", "varve reservations",
	"rewrite.Convert", "varve convert --to 3",
	"Experimental.EncodedShapes", "--experimental encoded-shapes",
	"Experimental.InnerChunks", "--experimental inner-chunks",
	"Options.FillAll permits it", "--yes permits it, --dry-run shows where",
	"Options.Finish", "varve check --finish",
	"Options.LeastRate permits less", "--http-timeout 0 waits for ever",
	"Options.Missing", "--missing 403",
	"Options.PrivateRedirects", "--private-redirects",
	"Options.RequireChunks", "--missing-chunks fill",
	"Options.Stall", "--http-timeout",
)

// oneLine returns the message of an error, which may be many errors, as one line in the
// words of the command.
func oneLine(err error) string {
	return withoutPackages(remedies.Replace(strings.ReplaceAll(err.Error(), "\n", "; ")))
}
