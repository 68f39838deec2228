package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readHypervisor returns the hypervisor of a guest, "" on bare metal, and whether the system gives
// evidence either way.
func readHypervisor(fsys fs.FS, arch, kernel string, info map[string]string) (name string, known bool) {
	name, known = hypervisorName(fsys, kernel)
	if arch != "amd64" && arch != "386" {
		return name, known
	}
	// CPUID leaf 1, ECX bit 31: every hypervisor sets it, bare metal never. The vendor's name is
	// no evidence, because metal instances of clouds have it too.
	switch {
	case !slices.Contains(strings.Fields(info["flags"]), "hypervisor"):
		return "", info["flags"] != ""
	case name == "":
		return "unknown hypervisor", true
	}
	return name, true
}

// hypervisorName searches for marks of a hypervisor in the reports of firmware and kernel. It
// reports whether the firmware has any name.
func hypervisorName(fsys fs.FS, kernel string) (name string, known bool) {
	if strings.Contains(strings.ToLower(kernel), "microsoft") { // WSL
		return "Hyper-V", true
	}
	const dmi = "sys/class/dmi/id/"
	marks := strings.ToLower(strings.Join([]string{
		readText(fsys, "sys/hypervisor/type"),
		readText(fsys, dmi+"sys_vendor"),
		readText(fsys, dmi+"product_name"),
		readText(fsys, dmi+"bios_vendor"),
		readText(fsys, "proc/device-tree/compatible"),
		readText(fsys, "proc/device-tree/hypervisor/compatible"),
		readText(fsys, "sys/devices/system/clocksource/clocksource0/available_clocksource"),
	}, "\n"))
	for _, h := range []struct{ mark, name string }{
		// More specific marks first: clouds report their own name, not the hypervisor's.
		{".metal", ""},
		{"vmware", "VMware"},
		{"virtualbox", "VirtualBox"},
		{"innotek", "VirtualBox"},
		{"parallels", "Parallels"},
		{"hyperv_clocksource", "Hyper-V"},
		{"virtual machine", "Hyper-V"},
		{"kvm", "KVM"},
		{"google compute engine", "KVM"},
		{"amazon ec2", "KVM"},
		{"alibaba cloud", "KVM"},
		{"openstack", "KVM"},
		{"apple virtualization", "Apple"},
		{"xen", "Xen"},
		{"qemu", "QEMU"},
		{"linux,dummy-virt", "QEMU"},
	} {
		if strings.Contains(marks, h.mark) {
			return h.name, true
		}
	}
	return "", exists(fsys, dmi+"sys_vendor") || exists(fsys, "proc/device-tree/compatible")
}

func inContainer(fsys fs.FS) bool {
	groups := readText(fsys, "proc/1/cgroup") + readText(fsys, "proc/self/cgroup")
	marked := func(mark string) bool { return strings.Contains(groups, mark) }
	found := func(file string) bool { return exists(fsys, "%s", file) }
	return slices.ContainsFunc([]string{".dockerenv", "run/.containerenv", "run/systemd/container"}, found) ||
		slices.ContainsFunc([]string{"docker", "kubepods", "containerd", "libpod", "lxc"}, marked)
}

// cgroupDirs returns the directories of this process's CPU control groups and their parents,
// of both versions, and always the root: in a container the path may be the host's.
func cgroupDirs(fsys fs.FS) []string {
	dirs := []string{}
	for line := range strings.Lines(readText(fsys, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var mounts []string
		switch controllers := strings.Split(parts[1], ","); {
		case parts[0] == "0" && parts[1] == "": // version 2
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case slices.Contains(controllers, "cpu"): // version 1
			mounts = []string{"sys/fs/cgroup/" + parts[1], "sys/fs/cgroup/cpu"}
		}
		for _, mount := range mounts {
			// Clean also removes the leading ".." of groups outside a namespace.
			for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
				if full := mount + strings.TrimSuffix(dir, "/"); fs.ValidPath(full) && !slices.Contains(dirs, full) {
					dirs = append(dirs, full)
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return dirs
}

// readCPULimit returns the tightest CPU limit of the control groups in processors, 0 for no limit.
// It reports whether the groups of this process and their limits can be read.
func readCPULimit(fsys fs.FS) (limit float64, known bool) {
	dirs := cgroupDirs(fsys)
	// Every group has this file. The kernel makes an empty sys/fs/cgroup also if no groups are mounted.
	known = slices.ContainsFunc(dirs, func(dir string) bool { return exists(fsys, "%s/cgroup.procs", dir) })
	for _, dir := range dirs {
		for _, text := range []string{
			readText(fsys, "%s/cpu.max", dir),
			readText(fsys, "%s/cpu.cfs_quota_us", dir) + " " + readText(fsys, "%s/cpu.cfs_period_us", dir),
		} {
			switch l, ok := parseQuota(text); {
			case !ok && strings.TrimSpace(text) != "":
				known = false
			case l > 0 && (limit == 0 || l < limit):
				limit = l
			}
		}
	}
	return limit, known || limit > 0
}

// parseQuota parses "quota period", both in µs; the limit is 0 for "max" or -1.
func parseQuota(text string) (limit float64, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, false
	}
	if fields[0] == "max" || fields[0] == "-1" {
		return 0, true
	}
	quota, err1 := strconv.ParseUint(fields[0], 10, 63)
	period, err2 := strconv.ParseUint(fields[1], 10, 63)
	if err1 != nil || err2 != nil || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}
