// SPDX-License-Identifier: Apache-2.0

// Package remedy has what messages of the library suggest: options and functions, as a Go
// program names them. The command puts its flags and commands in their place
// (cmd/varve/internal/failure), so messages name them by these constants only. A constant
// has the words around a name where the command says them otherwise.
package remedy

// Limits that a message names.
const (
	LimitsChunkAndBlock = "Limits.Chunk and Limits.Block"
	LimitsChunk         = "Limits.Chunk"
	LimitsBlock         = "Limits.Block"
	LimitsDocument      = " (Limits.Document)"
	LimitsInnerChunks   = " (Limits.InnerChunks)"
	LimitsRank          = " (Limits.Rank)"
	RaiseLimit          = "raise the limit (Options.Limits)"
	Directory           = " (Options.Directory)"
)

// Options of opening, creating and changing an array.
const (
	Write           = " (set Options.Write)"
	SharedWriters   = " (Options.SharedWriters)"
	RequireChunks   = "Options.RequireChunks"
	Register        = " (import varve.dev/zarr, or register it)" // a codec
	Finish          = "Options.Finish"
	CreateOverwrite = "CreateOptions.Overwrite"
	AppendRoundUp   = "AppendOptions.RoundUp"
	ResizeRoundUp   = "ResizeOptions.RoundUp"
	Planes          = "AppendOptions.Planes"
	Trim            = "RectilinearOptions.Trim"
	KeepEdges       = "grid.KeepEdges, no trim"
	TrimEdges       = "grid.TrimEdges"
	AppendOne       = "grid.AppendOne"
	Alone           = "Addition.Alone"
	Unlock          = "permit listed ones (Unlock)"
	EncodedShapes   = "Experimental.EncodedShapes"
	InnerChunks     = "Experimental.InnerChunks"
)

// Functions that change, read or repair nodes.
const (
	Read        = "zarr.Read"
	CreateGroup = "zarr.CreateGroup at"
	Delete      = "zarr.Delete"
	GroupAppend = "Group.Append"
	Consolidate = "Group.Consolidate"
	Reservation = "Array.Reservation"
	CopyArray   = "copy the array (transfer.Copy)"
	CopyArchive = "copy the archive to a folder (transfer.Copy)"
	Convert     = "convert.Convert"
	ConvertTo   = "convert.ConvertTo"
	CheckRun    = "check.Run"
	Repair      = "check.Repair"
)

// Rechunks, and what they leave.
const (
	Vacuum         = "rechunk.Vacuum"
	VacuumGrace    = "rechunk.Vacuum with a grace of"
	Grace          = "Options.Grace"
	SingleWriter   = "Options.SingleWriter"
	Rechunk        = "rechunk.Do"
	Abandon        = "rechunk.Abandon"
	TakeOver       = "Options.TakeOver"
	LeaveOutKeys   = "leave out the keys (Rechunking.Keys)"
	NewArray       = "make a new array of this one (Options.Into)"
	IntoPlace      = "(Options.Into)"
	LeaveOutInto   = "leave out Options.Into"
	Into           = "Options.Into"
	Follow         = "rechunk.Follow"
	LeaveOutRegion = "leave the region out"
	Memory         = "Options.Memory"
	SameMemory     = "the same Options.Memory, above 0"
)

// Options of copies, conversions, checks and filters.
const (
	Overwrite    = "Options.Overwrite"
	SyncDelete   = "SyncOptions.Delete"
	FillAll      = "Options.FillAll permits it"
	RepairShards = "RepairOptions.Shards"
	DANDI        = "Options.DANDI"
	Parts        = "Options.Parts["
	NoResult     = " is not a result of RunPart"
	FilterMemory = "filter.Options.Memory"
	KeepNone     = "statistics.Options.Discard keeps none"
)

// What an export of values suggests.
const (
	AsJSON     = "the format export.JSON"
	AsRaw      = "the format export.Raw"
	Decode     = "decoding (export.Of)"
	Header     = "export.AddHeadings"
	SelectPart = "select a part (export.Source)"
)

// Options of files that become one array, and of references.
const (
	Without             = "Collector.Without"
	Padded              = "Join.Padded"
	CopyPadded          = "let the manifest have copies of these chunks without it (Join.CopyPadded)"
	CollectorCopyPadded = "Collector.CopyPadded"
	Allow               = "call virtual.WithAllowed with"
)

// Options of stores behind HTTP.
const (
	Stall            = "Options.Stall"
	LeastRate        = "Options.LeastRate permits less"
	Missing          = "Options.Missing"
	PrivateRedirects = "Options.PrivateRedirects"
	Discard          = " (Options.Discard)"
)
