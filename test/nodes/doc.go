// SPDX-License-Identifier: Apache-2.0

// Package nodes creates, lists, consolidates, copies and removes nodes of both formats,
// in directories, archives and on servers.
package nodes
