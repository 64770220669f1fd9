// SPDX-License-Identifier: Apache-2.0

// Package node opens the nodes that arguments name. If there is none, errors propose
// similar names.
package node
