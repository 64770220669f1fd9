// SPDX-License-Identifier: Apache-2.0

// Package scan has what scanners of foreign files share: a [File] that is read by few
// requests, and a [Dataset] that says where its chunks are.
//
// A scanner reads only metadata. It returns every array that it finds, with the codecs of
// Zarr that decode its chunks and the bytes of the file that hold each of them. An array
// that Zarr cannot express has a reason why, in [Array.Refused]. Nothing else is dropped
// without a word either: it is in [Dataset.Omitted].
//
// Files are hostile until proven otherwise. A scanner checks every offset and count that
// it reads, and its memory is bounded by the bytes of metadata that the file really has.
package scan
