// SPDX-License-Identifier: Apache-2.0

// Package nodes tests creating, listing, consolidating, copying and removing nodes of
// both formats, in directories, in archives and on servers.
package nodes
