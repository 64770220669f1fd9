// SPDX-License-Identifier: Apache-2.0

package s3test

import (
	"os/exec"
	"syscall"
)

// bind makes a command end with this process.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
