# Runs the program as in the container: on a read-only root with nothing else, with a folder for data,
# as a user without a name or rights, in the environment of the image. It runs as the child of unshare,
# with its own mounts.
set -e
root=$1 program=$2 user=$3 environment=$4
mount -t tmpfs none "$root"
cp "$program" "$root/uidring"
mkdir "$root/data"
mount -t tmpfs -o uid="${user%:*}",gid="${user#*:}",mode=0700,noexec,nosuid,nodev none "$root/data"
mount -o remount,ro,nosuid,nodev "$root"
exec env -i $environment "$(command -v chroot)" --userspec="$user" --groups= "$root" /uidring serve --listen=127.0.0.1:0 --admin-listen=127.0.0.1:0 --log-format=json
