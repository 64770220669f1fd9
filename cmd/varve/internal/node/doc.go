// SPDX-License-Identifier: Apache-2.0

// Package node opens the nodes that arguments name, and hints at what may be meant where
// there is none.
package node
