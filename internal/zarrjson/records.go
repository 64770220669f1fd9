// SPDX-License-Identifier: Apache-2.0

package zarrjson

import (
	"iter"

	"varve.dev/zarr/internal/backdoor"
	"varve.dev/zarr/metadata"
)

// RecordV2 returns the entry of a node of format 2 in consolidated metadata: an object of
// its documents by their names. These are document, under the given name .zarray or
// .zgroup, and attributes, under .zattrs, unless attributes is nil. If a
// document is not JSON, the error wraps [metadata.ErrInvalid].
var RecordV2 = backdoor.Use[func(name string, document, attributes []byte, l metadata.Limits) ([]byte, error)]("metadata.RecordV2")

// Record returns the entry of a node in consolidated metadata: its document, or in format
// 2 the [RecordV2] of its documents. That of a group has no consolidated metadata.
var Record = backdoor.Use[func(n metadata.Node, l metadata.Limits) ([]byte, error)]("metadata.Record")

// MarshalAttributesV2 returns the document .zattrs for an object of attributes.
// Bare numbers that [metadata.ParseV2] repaired are written as they were.
var MarshalAttributesV2 = backdoor.Use[func(raw []byte, l metadata.Limits) ([]byte, error)]("metadata.MarshalAttributesV2")

// ParseAttributesV2 parses the document .zattrs of a node of format 2. It returns
// the object verbatim, except for the repairs of [metadata.ParseV2].
var ParseAttributesV2 = backdoor.Use[func(data []byte, l metadata.Limits) (object []byte, err error)]("metadata.ParseAttributesV2")

// CheckPath returns the error with which [metadata.NewConsolidated] refuses a path of a
// node.
var CheckPath = backdoor.Use[func(path string) error]("metadata.CheckPath")

// ParseChunkGrid is [metadata.ParseExtension] for the value of chunk_grid, which may
// also have the form of the ZEP 3 draft.
var ParseChunkGrid = backdoor.Use[func(raw []byte, l metadata.Limits) (metadata.Extension, error)]("metadata.ParseChunkGrid")

// WithoutChunkShapes returns codecs for chunks of other shapes: the predictors of
// imagecodecs lose the shape in their configuration, and take that of each chunk.
var WithoutChunkShapes = backdoor.Use[func(codecs []metadata.Extension) []metadata.Extension]("metadata.WithoutChunkShapes")

// Misread returns those of [metadata.Array.Notes] on deviations for which other
// programs return wrong values. They are gone when the document is written again.
var Misread = backdoor.Use[func(a *metadata.Array) []string]("metadata.Misread")

// Recut returns a copy of a with another shape, in elements, and another chunk grid.
// Where a codec states the shape of chunks, it changes as well.
var Recut = backdoor.Use[func(a *metadata.Array, shape []int64, grid metadata.Extension) (*metadata.Array, error)]("metadata.Recut")

// NewConsolidatedV2 is [metadata.NewConsolidated] for records of a group of format 2.
// own is the record of the group itself.
var NewConsolidatedV2 = backdoor.Use[func(own []byte, nodes iter.Seq2[string, []byte], l metadata.Limits) (*metadata.Consolidated, error)]("metadata.NewConsolidatedV2")

// Below returns the entries below the group at path. Their paths are relative to that
// group.
var Below = backdoor.Use[func(c *metadata.Consolidated, path string) *metadata.Consolidated]("metadata.Below")

// Raw returns the document at path verbatim, in format 2 the record. It returns nil if
// there is no such entry.
var Raw = backdoor.Use[func(c *metadata.Consolidated, path string) []byte]("metadata.Raw")

// With returns a copy of c with the document raw for the entry at path. An existing entry
// keeps its place; a new one comes last. Errors are those of [metadata.NewConsolidated].
var With = backdoor.Use[func(c *metadata.Consolidated, path string, raw []byte, l metadata.Limits) (*metadata.Consolidated, error)]("metadata.With")

// WithAll is [With] for several entries.
var WithAll = backdoor.Use[func(c *metadata.Consolidated, nodes iter.Seq2[string, []byte], l metadata.Limits) (*metadata.Consolidated, error)]("metadata.WithAll")

// WithOwn returns a copy of c with another record of the group itself.
var WithOwn = backdoor.Use[func(c *metadata.Consolidated, record []byte) *metadata.Consolidated]("metadata.WithOwn")

// Without returns a copy of c without the entry at path. Entries below it stay, except
// for those that are not part of the tree.
var Without = backdoor.Use[func(c *metadata.Consolidated, path string) *metadata.Consolidated]("metadata.Without")

// MarshalConsolidated returns the document .zmetadata of a group of format 2, indented
// by two spaces and ending with a newline.
var MarshalConsolidated = backdoor.Use[func(c *metadata.Consolidated, l metadata.Limits) ([]byte, error)]("metadata.MarshalConsolidated")
